/*
 * The largest values that go from one part to another, the same at every way in: SES_REQUIRE,
 * `--storage`, ses.h, the agent's socket, claims in shared memory, the service, the shapes of the
 * knowledge base, the portal.  ses_service/model/limits.py, ses_client/limits.py and
 * ontology/shapes.ttl repeat them, and tests/security/test_the_same_limits_at_every_door.py holds
 * them together.
 */
#ifndef SES_LIMITS_H
#define SES_LIMITS_H

/* Numbers of a requirement.  Bounds are in base units: bytes, bytes per second.  An exabyte: more
 * than an element has, and a number that every unit, JSON and every database carry exactly. */
#define SES_BOUND_MAX 1e18
#define SES_RATE_MAX 1e12    /* the same in MB/s */
#define SES_CAPACITY_MAX 1e9 /* the same in GB */

/* Weights are above 0.  Only their ratio counts, and a millionth of another counts for nothing. */
#define SES_WEIGHT_MAX 1e6

#define SES_SIZE_MAX 9223372036854775808.0 /* bytes of a file: no off_t is above it */
#define SES_STRIPE_COUNT_MAX 2000u         /* what Lustre allows */

/* Requirements of one file, and so of a set.  A slot of the claims has room for no more. */
#define SES_REQUIREMENTS_MAX 8u

/* Applications of one user with requirements of their own.  A segment of claims has room for no
 * more. */
#define SES_APPLICATIONS_MAX 63u

/* Texts, as arrays: bytes of UTF-8 with the NUL, so that one byte less is the longest. */
#define SES_APPLICATION_MAX 64 /* the name of an application */
#define SES_JOB_MAX 64         /* what the batch system calls a job */
#define SES_ELEMENT_MAX 96     /* "system/element" */
#define SES_POOL_MAX 16        /* a pool of Lustre's, which allows no longer names */

#define SES_NAME_MAX 256 /* characters of a user, a VO, a node, a storage system */

/* What an agent says to the service at once. */
#define SES_ANNOUNCED_FILES_MAX 2000    /* that were created or have ended */
#define SES_ANNOUNCED_USERS_MAX 1000    /* whose needs it asks for */
#define SES_ANNOUNCED_DECISIONS_MAX 500 /* that the files were placed by */
#define SES_ANNOUNCED_ELEMENTS_MAX 10   /* candidates of one, and as many refused ones */
#define SES_ANNOUNCED_SAMPLES_MAX 32    /* of what a file received */
#define SES_ANNOUNCED_READERS_MAX 500   /* rows of what is read */
#define SES_ANNOUNCED_EXCLUDED_MAX 320  /* elements of a system that take no file, and of whom */

#endif /* SES_LIMITS_H */
