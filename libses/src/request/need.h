/*
 * What a caller asks for: one file, for a program, with its needs.
 */
#ifndef SES_NEED_H
#define SES_NEED_H

#include "ses/protocol.h"

/* What the caller needs; all zero (with expected_bytes -1) means "as in the portal".  Without
 * requirements those of SES_REQUIRE hold. */
struct ses_need {
  const char *application; /* empty: none; NULL: as the settings have it */
  const char *pool;        /* NULL: any */
  int holder;              /* the process the file is made for; 0: this one */
  const char *program;     /* its short name, for rules; NULL: this one's */
  const char *whole;       /* the path as it gave it, from its root and without "..", for rules */
  long long expected_bytes;
  unsigned long long stripe_size;
  unsigned stripe_count;
  unsigned requirement_count;
  struct ses_wire_requirement requirements[SES_REQUIREMENTS_MAX];
};

/* The name that needs are looked up by.  NEED may be NULL, here and below. */
const char *ses_application_of(const struct ses_need *need);

/* What the program states itself, else what was stated for this run; returns how many. */
unsigned ses_requirements_of(const struct ses_need *need,
                             const struct ses_wire_requirement **requirements);

/* Among the flags: the file is made for mknod(), which is no opening of it. */
#define SES_PLACE_NODE 0x40000000

#endif /* SES_NEED_H */
