/*
 * A region that is open, and what the files of this folder know of it.
 *
 * All numbers were bounded when the region was opened, and are this process's own: who may write
 * the region cannot change them.
 */
#ifndef SES_SHM_REGION_H
#define SES_SHM_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"

struct ses_remote;

struct ses_share {
  char *at;
  struct ses_remote
      *remote; /* of another node: besides this and `patience_ns` nothing is used then */
  uint64_t patience_ns;
  uint64_t bytes;
  uint64_t heap;
  uint32_t items;
  int id; /* the kernel's number of the segment */
  bool writable;
  char name[SES_SHARE_NAME_MAX];
};

static inline struct ses_share_head *ses_share_head_of(const struct ses_share *share) {
  return (struct ses_share_head *)share->at;
}

static inline struct ses_share_record *ses_share_record_of(const struct ses_share *share,
                                                           uint32_t number) {
  return (struct ses_share_record *)(share->at + sizeof(struct ses_share_head)) + number;
}

#define SES_SHARE_PATIENCE_NS 5000000000ull /* until another is stated */

#endif /* SES_SHM_REGION_H */
