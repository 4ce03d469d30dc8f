/*
 * Values shared in memory by the processes of a node, and with other nodes: libses-share.
 *
 *   ses_share *share;
 *   ses_share_item *best;
 *   ses_share_create("run-7", NULL, &share);                      // or ses_share_open()
 *   ses_share_alloc(share, "best", &(ses_share_kind){.bytes = 64}, &best);
 *   ses_share_put(best, &value, sizeof value, NULL);              // in one process
 *   ses_share_get(best, &value, sizeof value, NULL, NULL);        // in others
 *
 * A region holds items; an item holds versions of a value: version 1 is the first put.  A get gives
 * a whole value, never parts of two, whatever happens to writers: a process that is killed in the
 * middle of a put leaves the value as it was.  On one node no call needs a daemon, and get and put
 * of the kinds READ, DELTA and NULL make no system call.
 *
 * What a get may give, and what a put waits for, is chosen for each item, from the strongest to the
 * weakest (the models are those of the distributed data sharing substrate, Vaidyanathan, Narravula
 * and Panda, HiPC 2006):
 *
 *   model      a get gives                                  a put
 *   STRICT     the last value, and never while another      waits while another holds the lock
 *              process holds the lock
 *   WRITE      the last value                               waits while another holds the lock
 *   READ       the last value                               asks nobody; the last one wins
 *   DELTA      a value at most `versions` behind the last   as READ
 *   TEMPORAL   the last value, if it was put at most        as READ
 *              `age_seconds` ago; else ETIME
 *   NULL       what this process got first; the last value  as READ
 *              after ses_share_refresh()
 *
 * Whose a region is.  A name is "[USER:]NAME"; without USER the region is the caller's own.  Only
 * its owner creates and removes it; its mode (0600 unless stated) says who else may read and write,
 * as with files.  The kernel says who made a region, so that nobody can put one in the place of
 * another user's.  Who may write a region can make its values wrong and keep its locks, but can
 * neither stop nor crash a reader: every number that is read from the region is bounded by what the
 * caller saw when it was opened, and every wait ends.  A region never shrinks: no SIGBUS.
 *
 * A region stays, with its values, until ses_share_remove() or the next start of the machine. Those
 * of a job are named "[USER:]JOB/NAME", and "job/NAME" is one of the caller's own job, as Slurm,
 * PBS or LSF say in the environment; the site's epilog removes them with `ses share remove --job
 * JOB`.
 *
 * Other nodes.  "[USER:]NAME@HOST[:PORT]" is the region of that name on another node, where
 * ses-share-agent listens; all calls are the same, and so is what they promise.  MUNGE proves the
 * caller's user there and the agent's user (root, or the caller) here; a process of the agent does
 * the caller's calls with the rights that this user has on that node, and holds its locks.  It ends
 * with the connection: a lock of a process or node that is gone is one of a dead process.  Values
 * go through libfabric, unencrypted, and may have 64 MiB.  DELTA asks for the last version only
 * while its copy will do; NULL asks nobody; TEMPORAL counts the time on the way as age.  A call
 * ends ten seconds after its patience at the latest, also when the node falls silent; after a call
 * that got no answer all of this region fail, and it can be opened again.
 *
 * Every function gives 0, or an error number of errno.h:
 *   EACCES     the mode of the region forbids it; of another node: who one of the two sides is
 *              could not be proven
 *   EBADF      the item was freed by somebody
 *   EDQUOT     of another node: the caller, or for a put the region's owner, has as much memory
 *              there as its agent allows one user (ses-share-agent --memory)
 *   EEXIST     there is one of this name
 *   EHOSTDOWN  the other node, or its agent, is gone; or the region was opened before a fork()
 *   EHOSTUNREACH  nobody listens there
 *   EINVAL     a name, size or number that is not allowed (see the limits below)
 *   EMSGSIZE   the value is larger than the item or the room
 *   ENOENT     there is none of this name; nothing has been put yet
 *   ENOMEM     no memory; the machine's, for a region
 *   ENOSPC     the region is full; for a region: the kernel has no room for another segment, or
 *              others have taken all 256 keys of its name (ipcs -m shows who)
 *   ENOTSUP    the region is of another version of this library, or of another PID namespace; of
 *              another node: there is no libfabric or MUNGE here or there, or the agent's version
 *              or provider is another
 *   EOWNERDEAD of ses_share_lock(): the lock is held, by the caller now; who held it before is
 *              dead, so that what it guards may be half done
 *   EPERM      the lock is not held by the caller
 *   ESRCH      "job/NAME" outside of a job
 *   ESTALE     the version is not kept any more
 *   ETIME      the value is older than `age_seconds`
 *   ETIMEDOUT  it took longer than ses_share_patience() allows
 *
 * Threads: a region may be used by all; an item as it was given by one at a time.  After fork() the
 * child opens its own.  64-bit Linux; all who share have the same byte order.
 *
 * Does NOT: keep anything on disk, or say when a reader has read.
 */
#ifndef SES_SHARE_H
#define SES_SHARE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define SES_SHARE_NAME_MAX 64 /* of a region or an item, with the NUL: A-Z a-z 0-9 . _ - */
#define SES_SHARE_BYTES_MAX (UINT64_C(1) << 40) /* of a region */
#define SES_SHARE_ITEMS_MAX 65536u              /* of a region */
#define SES_SHARE_VERSIONS_MAX 1024u            /* kept of an item */

typedef struct ses_share ses_share;
typedef struct ses_share_item ses_share_item;

enum ses_share_model {
  SES_SHARE_READ = 0,
  SES_SHARE_WRITE = 1,
  SES_SHARE_STRICT = 2,
  SES_SHARE_DELTA = 3,
  SES_SHARE_TEMPORAL = 4,
  SES_SHARE_NULL = 5
};

/* How a region is made; zeros are the defaults. */
typedef struct ses_share_options {
  uint64_t bytes;   /* for values, with 32 bytes for each version; 0: 1 MiB */
  uint32_t items;   /* at most; 0: 256 */
  uint32_t mode;    /* permissions, as of a file; 0: 0600 */
  uint32_t grouped; /* 1: the region belongs to `group`; 0: to the caller's */
  uint32_t group;
  uint64_t reserved[4];
} ses_share_options;

/* What an item holds; zeros are the defaults. */
typedef struct ses_share_kind {
  uint64_t bytes;     /* of the largest value; 0 is refused */
  uint32_t model;     /* enum ses_share_model */
  uint32_t keep;      /* versions that ses_share_copy() can give; 0: 1, the last */
  uint64_t versions;  /* DELTA */
  double age_seconds; /* TEMPORAL */
  uint64_t reserved[4];
} ses_share_kind;

/* What is known of a region or an item; see ses_share_each() and ses_share_look(). */
typedef struct ses_share_facts {
  char name[SES_SHARE_NAME_MAX];
  uint32_t owner; /* user id */
  uint32_t group;
  uint32_t mode;
  uint32_t opened; /* times that processes have it open now; of ses_share_each() without its own */
  uint64_t bytes;
  uint64_t bytes_free; /* the largest gap */
  uint32_t items;
  uint32_t items_most;
  uint64_t reserved[4];
} ses_share_facts;

typedef struct ses_share_item_facts {
  char name[SES_SHARE_NAME_MAX];
  ses_share_kind kind;
  uint64_t version;     /* of the last put; 0: none */
  uint64_t value_bytes; /* of the last put */
  double age_seconds;   /* since the last put; 0: none */
  int32_t holder;       /* process that holds the lock; 0: none */
  uint32_t padding;
  uint64_t reserved[4];
} ses_share_item_facts;

/* ------------------------------------------------------------------ regions */

/* Make a region of the caller's own.  OPTIONS NULL: the defaults. */
int ses_share_create(const char *name, const ses_share_options *options, ses_share **share);

/* Open a region that exists; for reading alone where its mode allows no more. */
int ses_share_open(const char *name, ses_share **share);

/* The items that it gave must not be used any more.  NULL is allowed. */
void ses_share_close(ses_share *share);

/* Nobody can open it any more; who has it open keeps it. */
int ses_share_remove(const char *name);

/* How long a call may wait for others before it gives ETIMEDOUT; 5 seconds at first. */
void ses_share_patience(ses_share *share, double seconds);

int ses_share_facts_of(ses_share *share, ses_share_facts *facts);

/* Call SEE for each region of this node that the caller may read; until it gives other than 0,
 * which is then the result. */
int ses_share_each(int (*see)(const ses_share_facts *facts, void *with), void *with);

/* -------------------------------------------------------------------- items */

/* Make an item.  It takes (keep + 1) * (bytes + 32), each rounded up to 64 bytes. */
int ses_share_alloc(ses_share *share, const char *name, const ses_share_kind *kind,
                    ses_share_item **item);

/* Find one that exists. */
int ses_share_find(ses_share *share, const char *name, ses_share_item **item);

/* Find it; make it if there is none.  One that exists is given as it is, of whatever kind. */
int ses_share_have(ses_share *share, const char *name, const ses_share_kind *kind,
                   ses_share_item **item);

/* Give back the memory of the caller; the item stays.  NULL is allowed. */
void ses_share_let_go(ses_share_item *item);

/* Free the item for everybody: calls for it give EBADF from then on. */
int ses_share_free(ses_share_item *item);

int ses_share_look(ses_share_item *item, ses_share_item_facts *facts);

/* The item in place NUMBER of the region, from 0; ENOENT: that place is free; EINVAL: there are no
 * more places. */
int ses_share_item_at(ses_share *share, uint32_t number, ses_share_item_facts *facts);

/* ------------------------------------------------------------------- values */

/* Put a value of BYTES.  VERSION, unless NULL, takes its number. */
int ses_share_put(ses_share_item *item, const void *value, size_t bytes, uint64_t *version);

/* Get the value, as the item's model says, into BUFFER of ROOM bytes.  BYTES and VERSION, unless
 * NULL, take its size and number. */
int ses_share_get(ses_share_item *item, void *buffer, size_t room, size_t *bytes,
                  uint64_t *version);

/* Get that VERSION, whatever the model.  ENOENT: it has not been put yet. */
int ses_share_copy(ses_share_item *item, uint64_t version, void *buffer, size_t room,
                   size_t *bytes);

/* The number of the last put; 0: none yet.  AGE_SECONDS, unless NULL: since then. */
int ses_share_version(ses_share_item *item, uint64_t *version, double *age_seconds);

/* Wait until there is a later version than this one. */
int ses_share_await(ses_share_item *item, uint64_t version);

/* Forget what this process has got: the next get asks the region. */
void ses_share_refresh(ses_share_item *item);

/* -------------------------------------------------------------------- locks */

/* Take the lock of the item, which belongs to the process.  It is not recursive. */
int ses_share_lock(ses_share_item *item);
int ses_share_unlock(ses_share_item *item);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* SES_SHARE_H */
