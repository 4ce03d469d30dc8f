/*
 * The conversation between a program (libses, libses-wrapper.so) and its
 * node's ses-agent, byte for byte.  Both sides include this file.
 *
 * Transport: one AF_UNIX SOCK_SEQPACKET connection per file, opened for one
 * question and closed after it:
 *
 *     program -> agent   struct ses_ask      "where should this file go?"
 *     agent -> program   struct ses_answer   "here", or "I cannot say"
 *     program -> agent   struct ses_report   "created" / "not created"; then both close
 *
 * With the report "created" comes, by SCM_RIGHTS, one O_PATH descriptor of the
 * file: the program may close the file and exit before the agent has looked,
 * and this handle still has its path and size.  It may be missing (no
 * descriptor left); the agent then looks for the file among the program's own
 * descriptors.  It is not believed: the agent ignores one that is not O_PATH,
 * or not the regular file, device and inode of the report on the device of the
 * ask, or is another user's file, as well as several at once and any that
 * comes with another message.
 *
 * A program that closes without a report did not use the placement.  The
 * agent takes who asks (uid, pid) from SO_PEERCRED, never from a message.
 * All integers are in host byte order (both ends are one machine); strings
 * are NUL-terminated inside their fixed arrays; reserved fields are zero.
 *
 * Versioning: a message whose magic, version, type or size is not the one
 * expected is dropped with its connection, and the program makes the plain
 * call.  Any change of layout or of what goes along with a message raises
 * SES_PROTOCOL_VERSION; numbers that are on the wire are never renumbered.
 */
#ifndef SES_PROTOCOL_H
#define SES_PROTOCOL_H

#include <stdint.h>

#include "ses/limits.h"

#define SES_PROTOCOL_MAGIC 0x51534553u /* "SESQ" in memory on little-endian machines */
#define SES_PROTOCOL_VERSION 1u

/* Where the agent listens unless SES_AGENT_SOCKET says otherwise. */
#define SES_AGENT_SOCKET_DEFAULT "/run/ses/agent.sock"

/* The name of the staging directory at the root of every mergerfs branch; in
 * it, one directory per uid (owner that uid, mode 0744), made by the agent. */
#define SES_STAGE_DIRECTORY ".ses"

#define SES_STAGE_MAX 320 /* bytes, with the NUL */
#define SES_OSTS_MAX 14   /* OSTs of one file on Lustre */
#define SES_MEMBER_WORDS                                                                           \
  48 /* of the set of a Lustre pool's OSTs; bit i % 64 of word i / 64: OST i */
#define SES_MEMBERS_MAX (64 * SES_MEMBER_WORDS) /* above all indexes in such a set */

enum ses_message_type {
  SES_MESSAGE_ASK = 1,
  SES_MESSAGE_ANSWER = 2,
  SES_MESSAGE_REPORT = 3,
};

/* Kinds of requirement; rates in MB/s (10^6 bytes per second), capacity in GB (10^9 bytes). */
enum ses_kind {
  SES_KIND_CURRENT_READ_RATE = 1,
  SES_KIND_AVERAGE_READ_RATE = 2,
  SES_KIND_CURRENT_WRITE_RATE = 3,
  SES_KIND_AVERAGE_WRITE_RATE = 4,
  SES_KIND_FREE_CAPACITY = 5,
};

enum ses_backend {
  SES_BACKEND_NONE = 0,
  SES_BACKEND_MERGERFS = 1,
  SES_BACKEND_LUSTRE = 2,
  SES_BACKEND_CEPHFS = 3,
};

enum ses_answer_status {
  SES_ANSWER_PLACE = 1,       /* create the file as the rest of the answer says */
  SES_ANSWER_NOT_MANAGED = 2, /* that device belongs to no storage system the site describes */
  SES_ANSWER_UNAVAILABLE = 3, /* no decision in time, or none possible: make the original call */
};

enum ses_outcome {
  SES_OUTCOME_CREATED = 1,     /* the file is where the answer said */
  SES_OUTCOME_NOT_CREATED = 2, /* it is not; ses_report.error says why (errno), 0 if unknown */
};

/* How a place on Lustre is written into the file's layout. */
enum ses_lustre_form {
  SES_LUSTRE_NONE = 0,
  SES_LUSTRE_POOL = 1,   /* any OSTs of the pool: the file system keeps its own care for space */
  SES_LUSTRE_LIST = 2,   /* exactly the OSTs listed; if that is refused, the pool if one is named */
  SES_LUSTRE_OFFSET = 3, /* the first OST listed is a hint that may come to nothing */
};

struct ses_header {
  uint32_t magic;
  uint16_t version;
  uint16_t type; /* enum ses_message_type */
  uint32_t size; /* bytes of the whole message, this header included */
  uint32_t reserved;
};

struct ses_wire_requirement {
  uint32_t kind;  /* enum ses_kind */
  uint32_t hard;  /* 1: an element that misses it is refused; 0: it only counts in the distance */
  double minimum; /* 0 to SES_CAPACITY_MAX or SES_RATE_MAX */
  double weight;  /* above 0, at most SES_WEIGHT_MAX */
};

/* Whether the numbers of a requirement are within the limits; a NaN never is. */
static inline int ses_is_within_limits(const struct ses_wire_requirement *requirement) {
  double largest = requirement->kind == SES_KIND_FREE_CAPACITY ? SES_CAPACITY_MAX : SES_RATE_MAX;
  return requirement->minimum >= 0 && requirement->minimum <= largest && requirement->weight > 0 &&
         requirement->weight <= SES_WEIGHT_MAX;
}

#define SES_RANKS_NOT_KNOWN UINT32_MAX

/* Which process of a parallel job a program is, as who started the job says in the environment. */
struct ses_rank {
  uint32_t rank;      /* < ranks, where there are any */
  uint32_t ranks;     /* of the job; 0: the program has no rank; or SES_RANKS_NOT_KNOWN */
  uint32_t elsewhere; /* ranks before this one that are on other nodes */
  uint32_t job;       /* the same for all ranks of a job, and for few others */
};

struct ses_ask {
  struct ses_header header;
  uint32_t device_major; /* st_dev of the directory the file is created in */
  uint32_t device_minor;
  int64_t expected_bytes; /* -1: not known */
  uint64_t stripe_size;   /* bytes; 0: the agent chooses */
  uint32_t stripe_count;  /* 0: the agent chooses */
  uint32_t requirement_count;
  char application[SES_APPLICATION_MAX];
  char pool[SES_POOL_MAX]; /* empty: any */
  struct ses_rank rank;
  struct ses_wire_requirement requirements[SES_REQUIREMENTS_MAX];
};

struct ses_answer {
  struct ses_header header;
  uint64_t placement_id;
  double distance; /* 0: meets every requirement */
  uint64_t stripe_size;
  uint32_t stripe_count;
  uint32_t status;         /* enum ses_answer_status */
  uint32_t backend;        /* enum ses_backend */
  uint32_t least_free_mib; /* mergerfs: free MiB without which the file is left to the union */
  char element[SES_ELEMENT_MAX]; /* "system/element" */
  __extension__ union {          /* by backend; what is not used is zero */
    /* mergerfs: the caller's staging directory on the chosen branch, and the same directory
     * seen through the union.  Absolute, without "..", and with room for a name: each at least 18
     * bytes shorter than its array.  The program stages its file under the 16 hexadecimal digits
     * of placement_id. */
    __extension__ struct {
      char stage[SES_STAGE_MAX];
      char stage_in_union[SES_STAGE_MAX];
    };
    /* lustre: the OSTs in the order of stripes, and the pool; stripe_count and stripe_size count
     * where they are not 0. */
    __extension__ struct {
      uint32_t lustre_form; /* enum ses_lustre_form */
      uint32_t ost_count;
      char pool[SES_POOL_MAX]; /* empty: none */
      uint16_t osts[SES_OSTS_MAX];
      uint32_t unused;
      /* With SES_LUSTRE_POOL: the pool's OSTs.  Any name of a pool is taken by the file system, so
       * that only the OSTs a file has show whether it lies in this one. */
      uint64_t members[SES_MEMBER_WORDS];
    };
  };
};

struct ses_report {
  struct ses_header header;
  uint64_t placement_id;
  uint64_t device; /* st_dev and st_ino of the created file, as the program sees it */
  uint64_t inode;
  uint32_t outcome; /* enum ses_outcome */
  int32_t error;    /* errno of the step that failed, else 0 */
  /* The program's own descriptor of the file, -1 if there is none.  Below that: the sender made the
   * file for another process of its user, and this is that process's number, negated. */
  int32_t fd;
  uint32_t reserved;
};

#endif /* SES_PROTOCOL_H */
