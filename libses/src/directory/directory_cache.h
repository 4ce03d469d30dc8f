/*
 * Which directory a path led to recently, for back ends that create files in place: after each
 * create in a directory, looking it up by its path costs a Lustre client a request.
 *
 * An entry is kept for a second.  If another directory takes its place meanwhile, the entry is
 * wrong, which does no harm: the device is compared with that of the new file's own descriptor, and
 * of the rest only the default layout depends on it, which is cached for longer anyway.
 */
#ifndef SES_DIRECTORY_CACHE_H
#define SES_DIRECTORY_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct ses_cached_directory {
  uint64_t inode;
  unsigned major; /* of the device */
  unsigned minor;
};

/* KEY is not 0; it is made of the path and of the directory that the path is relative to. */
bool ses_directory_cache_get(uint64_t key, struct ses_cached_directory *directory);

/* Was anything ever remembered? */
bool ses_directory_cache_any(void);

void ses_directory_cache_put(uint64_t key, const struct ses_cached_directory *directory);

#endif /* SES_DIRECTORY_CACHE_H */
