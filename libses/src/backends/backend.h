/*
 * What a storage back end does for the creation of one file.  One file each
 * (mergerfs.c), one row each in backend.c.
 */
#ifndef SES_BACKEND_H
#define SES_BACKEND_H

#include <stdbool.h>
#include <sys/stat.h>

#include "ses/protocol.h"

/* One file to be created, and after create() what became of it. */
struct ses_creation {
  const char *path;
  struct ses_answer *answer; /* checked by accepts(); create() may use its strings as scratch */
  struct statx *stat;        /* the back end's scratch */
  uint64_t parent_inode;     /* of the directory the file is created in */
  unsigned parent_major;     /* its device */
  unsigned parent_minor;
  unsigned parent_mode; /* not where the back end works in place */
  unsigned parent_gid;
  unsigned parent_length; /* bytes of PATH up to and with the last '/' */
  int dirfd;
  int flags; /* as in openat(); contains O_CREAT */
  unsigned mode;
  uint64_t bytes; /* that have to be free there */
  /* After success: the created file as the program sees it, and 0, or why (errno) it lies elsewhere
   * than in the answer. */
  uint64_t device;
  uint64_t inode;
  int strayed;
  bool unstaged; /* after failure: the place where it is to be made is not there any more */
};

#define SES_WIDTH_ALL 0xffffu

struct ses_backend_row {
  enum ses_backend backend;
  unsigned long file_system; /* f_type of statfs(): what such a mount looks like from outside */
  /* The file is made under its own name, by one exclusive open: it shows whether the name exists,
   * and gives mode, owner and ACL as the original call does.  Nothing need be looked at before. */
  bool in_place;
  /* True when the answer's fields for this back end can be used. */
  bool (*accepts)(const struct ses_answer *answer);
  /* False: leave a file of this NAME, opened with FLAGS, to the original call.  NULL: all suit. */
  bool (*suits)(const char *name, int flags);
  /* How many elements the directory's own rules spread a file over, SES_WIDTH_ALL: as many as there
   * are; 0: they do not say.  NULL: one. */
  unsigned (*width)(struct ses_creation *creation);
  /* Create and open.  A descriptor, or -errno of the step that failed; then everything is undone
   * and the original call has to be made. */
  int (*create)(struct ses_creation *creation);
};

/* The back end that handles file systems of this type, or NULL.  With SES_LUSTRE_STANDIN any FUSE
 * mount counts as Lustre. */
const struct ses_backend_row *ses_backend_of(unsigned long file_system);

/* True when ANSWER names a back end that can use it. */
bool ses_backend_accepts(const struct ses_answer *answer);

/* True when that back end makes files in place. */
bool ses_backend_is_in_place(const struct ses_answer *answer);

/* True when a create in place of NAME with FLAGS is one for the back ends that work so. */
bool ses_backend_suits_in_place(const char *name, int flags);

/* As a row's width(), of a file that is made in place. */
unsigned ses_backend_width_in_place(struct ses_creation *creation);

/* Create by the accepted answer in CREATION. */
int ses_backend_create(struct ses_creation *creation);

extern const struct ses_backend_row ses_backend_lustre;
extern const struct ses_backend_row ses_backend_mergerfs;

#endif /* SES_BACKEND_H */
