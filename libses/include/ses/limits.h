/*
 * The largest numbers of a requirement, the same at every way in: SES_REQUIRE, `--storage`, ses.h,
 * the agent's socket, claims in shared memory, the service, the shapes of the knowledge base, the
 * portal.  ses_service/model/limits.py, ses_client/limits.py and ontology/shapes.ttl repeat them,
 * and tests/security/test_the_same_limits_at_every_door.py holds them together.
 */
#ifndef SES_LIMITS_H
#define SES_LIMITS_H

/* In base units: bytes, bytes per second.  An exabyte: more than an element has, and a number that
 * every unit, JSON and every database carry exactly. */
#define SES_BOUND_MAX 1e18
#define SES_RATE_MAX 1e12    /* the same in MB/s */
#define SES_CAPACITY_MAX 1e9 /* the same in GB */

/* Weights are above 0.  Only their ratio counts, and a millionth of another counts for nothing. */
#define SES_WEIGHT_MAX 1e6

#define SES_SIZE_MAX 9223372036854775808.0 /* bytes of a file: no off_t is above it */

#endif /* SES_LIMITS_H */
