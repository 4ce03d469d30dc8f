/*
 * The message about a requirement that is not understood: where that begins, and what was meant,
 * where only the unit is written otherwise than units are: "50MBs", "50 mb/sec", "50Mbit".
 *
 * For programs that people type requirements to.  The preload library does not contain it.
 */
#ifndef SES_REQUIRE_WRONG_H
#define SES_REQUIRE_WRONG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is needed at most besides the length of the text that is wrong. */
#define SES_REQUIRE_WRONG_LENGTH 256u

/* The sentence into WHY, cut to SIZE; WRONG is what ses_require_parse() does not understand. */
void ses_require_wrong(char *why, size_t size, const char *wrong);

#ifdef __cplusplus
}
#endif

#endif /* SES_REQUIRE_WRONG_H */
