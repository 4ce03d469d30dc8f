/*
 * What layout a directory gives to new files, remembered for some seconds so
 * that a storm of creates asks the metadata server once.
 *
 * A fixed table without locks: an entry that is being written, or was written
 * meanwhile, counts as not there.  Does NOT know defaults larger than
 * SES_LUSTRE_DEFAULT_MAX.
 */
#ifndef SES_LUSTRE_DEFAULT_H
#define SES_LUSTRE_DEFAULT_H

#include <stddef.h>
#include <stdint.h>

#include "lustre/layout.h"

#define SES_LUSTRE_DEFAULT_MAX 1000u /* bytes; twelve components */

struct ses_directory {
  int dirfd; /* as in openat() */
  const char *path;
  size_t length;   /* bytes of PATH that lead to the directory; 0: DIRFD itself */
  uint64_t device; /* of the directory; with the inode the key of what is remembered */
  uint64_t inode;
};

/* What reading a default needs room for. */
struct ses_default_work {
  char *path;          /* LENGTH + 1 bytes of the directory, and at least SES_FD_PATH_MAX */
  unsigned char *root; /* SES_LUSTRE_DEFAULT_MAX bytes */
  struct ses_lov_work *lov;
  struct statx *stat;
};

/* Put the default that holds in DIRECTORY into INTO, which has room for SES_LUSTRE_DEFAULT_MAX
 * bytes: its own, with what that leaves open from the root's, as the metadata server completes it
 * at a create (a client is shown a directory's own bytes alone).  Its size, 0 if there is none, or
 * -errno: it is unknown, as where the root cannot be reached from the directory.  Where it is not
 * remembered, the directory's inode is read again: the caller may know an older one. */
long ses_lustre_default(struct ses_directory *directory, const struct ses_default_work *work,
                        unsigned char *into);

#endif /* SES_LUSTRE_DEFAULT_H */
