/*
 * Where the ways to directories led a moment ago, for back ends that make files in place: a look at
 * a directory by its path costs a Lustre client a request after each create in it.
 *
 * Remembered for a second.  A directory that another one takes the place of meanwhile still counts:
 * the device is compared with that of the new file's own descriptor, and of the rest only the
 * default layout depends on it, which is remembered for longer anyway.
 */
#ifndef SES_KNOWN_H
#define SES_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

struct ses_known {
  uint64_t inode;
  unsigned major; /* of the device */
  unsigned minor;
};

/* KEY is not 0, and is that of the way and of where it begins. */
bool ses_known_get(uint64_t key, struct ses_known *directory);

/* Was anything ever remembered? */
bool ses_known_any(void);

void ses_known_put(uint64_t key, const struct ses_known *directory);

#endif /* SES_KNOWN_H */
