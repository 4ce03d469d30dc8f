/*
 * Memory that the node's agent publishes for every program: finding it by its
 * key, and deciding whether it may be trusted.
 *
 * It is attached once, for reading, and never detached: somebody may be reading.
 * A child of fork() inherits it.  No lock, no heap; async-signal-safe.
 */
#ifndef SES_PUBLIC_SEGMENT_H
#define SES_PUBLIC_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ses/segment.h"

/* What kind of segment is looked for. */
struct ses_public_kind {
  struct ses_segment_head head;
  uint32_t number; /* for ses_segment_key() */
  /* Is what lies AT whole, and from the agent at a socket of this hash? */
  bool (*is_sound)(const void *at, uint64_t socket_hash);
  /* May it be used now?  If not, another one is looked for under the same key. */
  bool (*is_alive)(const void *at);
};

/* What this process has of it; all zero at first. */
struct ses_public_found {
  _Atomic(const void *) in_force;
  _Atomic int id;         /* the kernel's number of it */
  _Atomic uint32_t maker; /* who made it */
  _Atomic uint64_t next_try_ms;
  _Atomic unsigned attached; /* so far */
};

/* The segment of this kind, or NULL.  Looks for one at most once a second. */
const void *ses_public_segment(const struct ses_public_kind *kind, struct ses_public_found *found);

/* False: there is none, and it is not time to look for one. */
bool ses_public_may_be(const struct ses_public_found *found);

#endif /* SES_PUBLIC_SEGMENT_H */
