/*
 * Requirements as people write them, in SES_REQUIRE and for ses-run:
 * "write>=300MB/s free>=2TB!".
 *
 * KIND>=NUMBERUNIT, separated by blanks or commas, each kind at most once; "!"
 * or ",hard" behind it makes one hard: an element that misses it is refused;
 * ",weight=NUMBER" last sets how much a shortfall counts, 1 without it.
 * Kinds: read and write (what a stream that starts now would get), average-read
 * and average-write, free; or the other names that ontology/kinds.ttl has for
 * them, such as current-write-rate.  Units: kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB,
 * TiB (of 1024), for rates followed by "/s".  Nothing else is understood, and
 * nothing is guessed.
 */
#ifndef SES_REQUIRE_H
#define SES_REQUIRE_H

#include <stdbool.h>

#include "ses/protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SES_REQUIRE_KINDS 5u

/* Parses the REQUIREMENT that *AT begins with, whatever its numbers, and moves *AT behind it;
 * false: it is not understood. */
bool ses_require_one(const char **at, struct ses_wire_requirement *requirement);

/* The requirements of TEXT into REQUIREMENTS, by kind.  Returns how many, or -1: not understood
 * or beyond ses/limits.h, and *WRONG is where. */
int ses_require_parse(const char *text, struct ses_wire_requirement requirements[SES_REQUIRE_KINDS],
                      const char **wrong);

#ifdef __cplusplus
}
#endif

#endif /* SES_REQUIRE_H */
