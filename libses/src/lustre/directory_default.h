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

#define SES_LUSTRE_DEFAULT_MAX 1000u /* bytes; twelve components */

struct ses_directory {
  int dirfd; /* as in openat() */
  const char *path;
  size_t length;   /* bytes of PATH that lead to the directory; 0: DIRFD itself */
  uint64_t device; /* of the directory; with the inode the key of what is remembered */
  uint64_t inode;
};

/* Put the effective default of DIRECTORY (its own, else the root's) into INTO, which has room for
 * SES_LUSTRE_DEFAULT_MAX bytes.  SCRATCH has room for LENGTH + 1 bytes and for 32.  Its size, 0 if
 * there is none, or -errno: it cannot be told. */
long ses_lustre_default(const struct ses_directory *directory, char *scratch, unsigned char *into);

/* "/proc/self/fd/N": a name for the file behind descriptor FD.  32 bytes are enough. */
void ses_lustre_name_fd(int fd, char *into);

#endif /* SES_LUSTRE_DEFAULT_H */
