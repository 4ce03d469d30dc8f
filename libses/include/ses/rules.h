/*
 * Which files a site wants placed: what the agent publishes for all programs
 * of the node, byte for byte.
 *
 * Where it is and when a program believes it: ses/segment.h, as the table.
 * Where the agent gets no segment, the same is in a file: the socket's path and
 * SES_RULES_SUFFIX.  Without both there are no rules.
 *
 * What is in it never changes.  An agent with other rules, and one that ends,
 * sets the state to SES_TABLE_RETIRED and removes it; programs then look for
 * another.
 *
 * Lists are patterns separated by ':', as in src/rules/pattern.h.  A file is placed
 * if no pattern of `exclude` fits its path and, where `include` is not empty,
 * one of `include` does.  Programs whose short name a pattern of `programs`
 * fits are not served, unless SES_APPLICATION names them.
 */
#ifndef SES_RULES_H
#define SES_RULES_H

#include "ses/table.h"

#define SES_RULES_MAGIC 0x454c5552u /* "RULE" in memory on little-endian machines */
#define SES_RULES_VERSION 1u
#define SES_RULES_UID UINT32_MAX /* nobody's */
#define SES_RULES_SUFFIX ".rules"

struct ses_rules {
  struct ses_segment_head segment; /* SES_RULES_KIND */
  uint64_t socket_hash;
  uint32_t state; /* atomic, enum ses_table_state */
  char reserved[36];
  char include[4032]; /* each ends with a NUL */
  char exclude[8192];
  char programs[4096];
};

#define SES_RULES_KIND                                                                             \
  { SES_RULES_MAGIC, SES_RULES_VERSION, 64, sizeof(struct ses_rules) }

#endif /* SES_RULES_H */
