/*
 * The directory entry a file is to be created under, and what is known of its directory: the
 * questions that are asked before anything is decided or changed.
 */
#ifndef SES_ENTRY_H
#define SES_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"
#include "request/outcome.h"
#include "ses/protocol.h"

/* Longer ways to the directory are left to the original call. */
#define SES_PARENT_MAX sizeof(struct ses_answer)

struct ses_entry {
  struct ses_creation file; /* all but answer, stat, strayed and unstaged, which a step sets */
  unsigned path_length;
  uint16_t width; /* see struct ses_backend_row; 0 also where the program states its stripes */
  bool in_place;  /* likewise */
};

/* The buffers of one step.  No two steps that have them lie on the stack together (2 KiB of it is
 * the limit for everything: threads and signal handlers may have little). */
struct ses_work {
  union {
    char parent[SES_PARENT_MAX];
    struct ses_ask ask;
    struct ses_answer answer;
    struct ses_report report;
  };
};

/* Find where the name in file.path begins.  False: no name, or not a path a file can be created at.
 */
bool ses_entry_begin(struct ses_entry *entry);

/* Can the name's directory hold placed files?  One statx() for a device seen before. */
bool ses_entry_is_possible(struct ses_entry *entry, struct ses_work *work);

/* Look at the directory again, freshly this time: has it become one where a file made elsewhere and
 * named here would differ from one made here? */
bool ses_entry_is_unsuited(struct ses_entry *entry, struct ses_work *work);

/* Does the name not suit, or is there something under it?  AT_HAND: the file's place can be chosen
 * without asking.  SES_PLACE_PLACED: neither, as far as the create itself would not say so. */
enum ses_place_status ses_entry_look_at_name(const struct ses_entry *entry, bool at_hand);

/* Create by the checked answer in WORK: a descriptor, or -errno and nothing is left. */
int ses_entry_create(struct ses_entry *entry, struct ses_work *work);

/* What a result of that means, and into WHERE, which may be NULL. */
enum ses_place_status ses_entry_outcome(const struct ses_entry *entry, struct ses_where *where,
                                        int result);

/* Into WHERE, which may be NULL, what the answer says. */
void ses_entry_fill_where(struct ses_where *where, const struct ses_answer *answer);

#endif /* SES_ENTRY_H */
