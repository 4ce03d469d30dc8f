/*
 * What a storage back end does for the creation of one file.  One file each
 * (backend_mergerfs.c), one row each in backend.c.
 */
#ifndef SES_BACKEND_H
#define SES_BACKEND_H

#include <stdbool.h>
#include <sys/stat.h>

#include "ses/protocol.h"

/* One file to be created, and after create() what became of it. */
struct ses_creation {
  int dirfd;
  const char *path;
  int flags; /* as in openat(); contains O_CREAT */
  unsigned mode;
  unsigned parent_mode; /* of the directory the file is created in */
  unsigned parent_gid;
  struct ses_answer *answer; /* checked by accepts(); create() may use its strings as scratch */
  struct statx *stat;        /* scratch; after success: the created file, as the program sees it */
};

struct ses_backend_row {
  enum ses_backend backend;
  unsigned long file_system; /* f_type of statfs(): what such a mount looks like from outside */
  /* True when the answer's fields for this back end can be used. */
  bool (*accepts)(const struct ses_answer *answer);
  /* Create and open.  A descriptor, or -errno of the step that failed; then everything is undone
   * and the plain call has to be made. */
  int (*create)(struct ses_creation *creation);
};

/* True when some back end handles file systems of this type. */
bool ses_backend_recognises(unsigned long file_system);

/* True when ANSWER names a back end that can use it. */
bool ses_backend_accepts(const struct ses_answer *answer);

/* Create as the accepted answer in CREATION says. */
int ses_backend_create(struct ses_creation *creation);

extern const struct ses_backend_row ses_backend_mergerfs;

#endif /* SES_BACKEND_H */
