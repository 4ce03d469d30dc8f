/*
 * Shared memory between programs of a node that need not trust each other: the kit on which the
 * candidate table (ses/table.h), the site's rules (ses/rules.h), the claims (ses/claims.h) and the
 * regions of libses-share (ses/share.h) stand.
 *
 * Layout.  Each is one System V segment that begins with struct ses_segment_head: what it is, of
 * which version, and how large.  Any change of layout or meaning raises the version of its kind; a
 * reader of another version counts it as no segment.  Integers are in host byte order, times are of
 * CLOCK_MONOTONIC, counters only grow.  What is read as one and changes later lies under a sequence
 * counter (ses/sequence.h): nobody sees parts of two writings.
 *
 *   kind     key                          made by    owner      mode    who writes it later
 *   table    ses_segment_key(socket, 0)   the agent  the agent  0644    the agent
 *   rules    ses_segment_key(socket, ~0)  the agent  the agent  0644    nobody
 *   claims   none; the table names it     the agent  the user   0600    the user's programs, the
 * agent region   of its owner and name        its owner  its owner  chosen  who the mode allows
 *
 * Ownership.  The kernel keeps who made a segment (cuid, which nobody can change), whose it is and
 * who may read and write it; nothing of this is taken from the segment itself.
 *
 * Trust.  A segment is believed only if the kernel says that it was made by whom it should be made
 * by, belongs to whom it should, has exactly the mode and size of its kind, and if its head agrees.
 * The number of a segment may come to name another one, so the kernel is asked before and after
 * attaching: only what is held by being attached cannot change.  Whoever may write a segment can
 * make what is in it wrong at any moment: every number is read once, and bounded before it is used
 * as an index or a size.
 *
 * A segment never shrinks, so that no reader dies of SIGBUS, as one of a file cut short would.  It
 * outlives its makers until it is removed.  A dead writer is noticed by the heartbeat of a table,
 * the holder that a lock names (region), or a slot that stays unfinished (claims).
 *
 * The functions here call the kernel alone: no errno, no heap, no lock; async-signal-safe.  They
 * give a negative error number where they give a number.
 *
 * smed-sampler's table has the same head and sequence counters, but is a file that the site names
 * (libses/extras/sampler/table.h): its monitor reads it and does not map it, for a file can be cut
 * short.
 */
#ifndef SES_SEGMENT_H
#define SES_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ses_segment_head {
  uint32_t magic;
  uint16_t version;
  uint16_t head_size;
  uint64_t size; /* of the whole segment */
};

/* Is the head of what lies AT as this KIND's? */
static inline bool ses_segment_is(const void *at, const struct ses_segment_head *kind) {
  const struct ses_segment_head *head = (const struct ses_segment_head *)at;
  return __atomic_load_n(&head->magic, __ATOMIC_ACQUIRE) == kind->magic &&
         head->version == kind->version && head->head_size == kind->head_size &&
         head->size == kind->size;
}

/* Write this KIND's head, after all that it promises. */
static inline void ses_segment_name(void *at, const struct ses_segment_head *kind) {
  struct ses_segment_head *head = (struct ses_segment_head *)at;
  head->version = kind->version;
  head->head_size = kind->head_size;
  head->size = kind->size;
  __atomic_store_n(&head->magic, kind->magic, __ATOMIC_RELEASE);
}

/* What the kernel says of a segment. */
struct ses_segment_facts {
  int32_t process; /* that made it; 0: of another PID namespace */
  uint32_t maker;
  uint32_t owner;
  uint32_t group;
  uint32_t mode; /* permissions */
  uint64_t size;
  uint64_t attached; /* times, over all processes */
  bool keyed;        /* it can be found by a key */
  bool removed;      /* it goes with the last process that has it */
};

/* What the kernel must say of one before it is believed. */
struct ses_segment_rule {
  uint32_t maker;    /* this user */
  uint32_t or_maker; /* or this one */
  uint32_t owner;    /* SES_SEGMENT_ITS_MAKER: who made it */
  uint32_t mode;     /* SES_SEGMENT_ANY_MODE */
  uint64_t size;     /* exactly; 0: any */
};
#define SES_SEGMENT_ITS_MAKER UINT32_MAX
#define SES_SEGMENT_ANY_MODE UINT32_MAX

/* FNV-1a, 64 bits (Fowler, Noll, Vo; public domain). */
static inline uint64_t ses_segment_hash(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text; text++)
    hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

/* The key of the segment that NUMBER names among those of one HASH; never IPC_PRIVATE (0).  A key
 * that meets another segment by chance is seen from its head. */
static inline int32_t ses_segment_key(uint64_t hash, uint32_t number) {
  uint64_t mixed = (hash ^ number) * 0x9e3779b97f4a7c15u;
  uint32_t key = (uint32_t)(mixed >> 32);
  return key ? (int32_t)key : 1;
}

/* The kernel's number of the segment of KEY. */
int ses_segment_find(int32_t key);

/* Make one; -EEXIST: there is one of that key.  KEY 0: it has none. */
int ses_segment_make(int32_t key, uint64_t size, uint32_t mode);

/* Give it to OWNER and GROUP, with this MODE. */
int ses_segment_give(int id, uint32_t owner, uint32_t group, uint32_t mode);

/* Nobody can find it any more; it goes with the last process that has it. */
int ses_segment_remove(int id);

int ses_segment_look(int id, struct ses_segment_facts *facts);

bool ses_segment_follows(const struct ses_segment_facts *facts,
                         const struct ses_segment_rule *rule);

/* Attach ID if it follows RULE, and put into *AT where it is.  0, or -EPERM: it does not follow the
 * rule; -EACCES and others of shmat(2).  FACTS are as after attaching. */
int ses_segment_attach(int id, const struct ses_segment_rule *rule, bool writing,
                       struct ses_segment_facts *facts, void **at);
void ses_segment_detach(const void *at);

/* For who publishes under a key: the segment of KEY that follows RULE (*LEFT: it was there), or
 * another one, empty, of RULE's size and mode; what else has the key is removed.  Attached for
 * writing.  KEY 0: nobody finds it.  Gives its number; -EEXIST: the key is somebody's, and the
 * caller may not remove it. */
int ses_segment_publish(int32_t key, const struct ses_segment_rule *rule, bool *left, void **at);

/* What an agent of USER publishes for everybody; or of root, for who believes that as well. */
static inline struct ses_segment_rule ses_segment_published(uint32_t user, bool or_root,
                                                            uint64_t size) {
  struct ses_segment_rule rule = {user, or_root ? 0 : user, SES_SEGMENT_ITS_MAKER, 0644, size};
  return rule;
}

/* The claims of USER, which an agent of MAKER made; or of root. */
static inline struct ses_segment_rule ses_segment_given(uint32_t maker, bool or_root, uint32_t user,
                                                        uint64_t size) {
  struct ses_segment_rule rule = {maker, or_root ? 0 : maker, user, 0600, size};
  return rule;
}

#ifdef __cplusplus
}
#endif

#endif /* SES_SEGMENT_H */
