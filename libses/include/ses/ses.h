/*
 * libses: create a file where it will be served best.
 *
 * A program says what it needs from storage (a policy), creates a file, and
 * learns where the file went (a result).  Everything is best effort: nothing
 * is reserved, and whatever goes wrong with choosing a place, the file is
 * created by the plain open(2) and the result says why it was not placed.
 * A create fails only when open(2) itself fails.
 *
 *     ses_policy *policy = ses_policy_new();
 *     ses_result result;
 *     ses_policy_set_average_read_rate(policy, 50);   // MB/s
 *     ses_policy_set_capacity(policy, 100);           // GB
 *     int fd = ses_create("fileName.dat", 0644, policy, &result);
 *     if (fd >= 0 && !result.placed)
 *       fprintf(stderr, "not placed: %s\n", ses_strerror(result.reason));
 *     ses_policy_free(policy);
 *
 * Units: rates in MB/s (10^6 bytes per second), free capacity in GB (10^9
 * bytes), sizes of files and stripes in bytes.
 *
 * Threads: every function may be called from any thread.  A policy may be
 * used by many threads at once as long as none of them changes it; a caller
 * that changes a shared policy must synchronise.  No thread, descriptor or
 * lock of the library outlives a call.  Nothing is ever printed.
 *
 * Environment, read once when the library is loaded: SES_AGENT_SOCKET (where
 * the node's agent listens), SES_SYNC_MS (longest wait for it, 20; 0: never
 * ask), SES_APPLICATION (the name requirements are looked up by), SES_REQUIRE
 * (what files need that no policy speaks for), SES_INCLUDE and SES_EXCLUDE
 * (patterns of paths to place, and not to place), SES_LOG (a file for what was
 * done with each create), SES_DISABLE (1: every create is the plain one),
 * SES_FILTERS (of ses-run: which seccomp filter it found to be harmless).
 *
 * The library does not write, close, move or remove anything after the create,
 * and does not change a file that existed before, beyond what the flags ask.
 *
 * For C89 and C++98 and later, where there is <stdint.h>; for C++17 there is
 * ses/ses.hpp.  Link with ses::ses (CMake, find_package(ses)) or
 * `pkg-config --libs ses`.  Once loaded the library stays in the process:
 * dlclose() does not unload it.
 *
 * ABI: functions and numbers are only ever added.  A policy is opaque, so that
 * it can grow; ses_result has room to grow in `reserved`.
 */
#ifndef SES_SES_H
#define SES_SES_H

#include <stdint.h>
#include <sys/types.h>

#include "ses/limits.h" /* SES_RATE_MAX, SES_STRIPE_COUNT_MAX and others */

#if defined(__GNUC__)
#define SES_API __attribute__((visibility("default")))
#define SES_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SES_API
#define SES_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a requirement is about.  Rates in MB/s; capacity in GB. */
typedef enum ses_requirement_kind {
  SES_CURRENT_READ_RATE = 1,  /* what one stream that starts now would read */
  SES_AVERAGE_READ_RATE = 2,  /* the same, judged over the monitor's long window */
  SES_CURRENT_WRITE_RATE = 3, /* what one stream that starts now would write */
  SES_AVERAGE_WRITE_RATE = 4,
  SES_FREE_CAPACITY = 5 /* free space that is not yet promised to other files */
} ses_requirement_kind;

/* Everything a call of this library can say.  0 is success; the numbers never change. */
typedef enum ses_status {
  SES_OK = 0,

  /* A value was refused.  The policy is as it was before the call. */
  SES_REFUSED_NO_POLICY = 1,   /* the policy is NULL */
  SES_REFUSED_NOT_FINITE = 2,  /* not a number, or infinite */
  SES_REFUSED_NEGATIVE = 3,    /* below 0; for a weight: not above 0 */
  SES_REFUSED_TOO_LARGE = 4,   /* beyond the limit that the setter names */
  SES_REFUSED_KIND = 5,        /* not a ses_requirement_kind */
  SES_REFUSED_STRIPE_SIZE = 6, /* not a multiple of SES_STRIPE_SIZE_STEP */
  SES_REFUSED_POOL = 7,        /* too long, or a character other than A-Z a-z 0-9 _ - . */
  SES_REFUSED_APPLICATION = 8, /* empty, too long, or with ':', '/' or a control character */

  /* The file was created or opened, but not placed. */
  SES_NOT_PLACED_EXISTS = 20,      /* the name existed: the file stays where it is */
  SES_NOT_PLACED_NOT_MANAGED = 21, /* the directory lies on no storage system the site describes */
  SES_NOT_PLACED_NO_AGENT = 22,    /* no ses-agent answers, or the environment turns asking off */
  SES_NOT_PLACED_NO_ANSWER = 23, /* the agent did not answer within SES_SYNC_MS, or with rubbish */
  SES_NOT_PLACED_NO_DECISION = 24, /* no decision in time, or no element may take the file */
  SES_NOT_PLACED_UNSUITED = 25,    /* flags, mode or directory that only open(2) serves exactly */
  SES_NOT_PLACED_STEP_FAILED = 26, /* a step failed and was undone: see ses_result.place_errno */

  /* Nothing was created. */
  SES_CREATE_FAILED = 40 /* open(2) failed: see ses_result.create_errno */
} ses_status;

#define SES_STRIPE_SIZE_STEP 65536u     /* bytes; what Lustre requires */
#define SES_STRIPE_SIZE_MAX 4294901760u /* bytes; the largest multiple of the step below 4 GiB */

/*
 * What a file needs.  A policy says nothing at first: then the requirements
 * apply that the user, the application, the virtual organisation or the site
 * has stated in the portal.  A requirement set here takes the place of the
 * portal's for that kind; the other kinds still come from there.
 *
 * The caller owns a policy from ses_policy_new() to ses_policy_free().  A
 * create reads it and keeps no reference.
 *
 * Every setter returns SES_OK or one of SES_REFUSED_*.  A refused value
 * changes nothing except ses_policy_status(), so that a program may also set
 * everything first and ask once.
 */
typedef struct ses_policy ses_policy;

/* An empty policy, or NULL when memory is short (errno ENOMEM). */
SES_API SES_MUST_CHECK ses_policy *ses_policy_new(void);

/* A policy of its own with the same content, refusals included; NULL when memory is short (errno
 * ENOMEM) or POLICY is NULL (errno EINVAL). */
SES_API SES_MUST_CHECK ses_policy *ses_policy_copy(const ses_policy *policy);

/* Give the memory back.  NULL is allowed. */
SES_API void ses_policy_free(ses_policy *policy);

/* The first refusal since the policy was made, else SES_OK; SES_REFUSED_NO_POLICY for NULL. */
SES_API ses_status ses_policy_status(const ses_policy *policy);

/* At least this rate for one stream, in MB/s, 0 to SES_RATE_MAX.  0 asks for nothing and so lifts
 * what the portal says for this kind.  Refused: NOT_FINITE, NEGATIVE, TOO_LARGE. */
SES_API ses_status ses_policy_set_current_read_rate(ses_policy *policy, double mb_per_s);
SES_API ses_status ses_policy_set_average_read_rate(ses_policy *policy, double mb_per_s);
SES_API ses_status ses_policy_set_current_write_rate(ses_policy *policy, double mb_per_s);
SES_API ses_status ses_policy_set_average_write_rate(ses_policy *policy, double mb_per_s);

/* At least this much free space on the element, in GB, 0 to SES_CAPACITY_MAX.  Refused as above. */
SES_API ses_status ses_policy_set_capacity(ses_policy *policy, double gb);

/* How much the shortfall of one kind counts in the distance against the others; above 0, at most
 * SES_WEIGHT_MAX; 1 unless set.  May be set before or after the minimum.
 * Refused: KIND, NOT_FINITE, NEGATIVE (also 0), TOO_LARGE. */
SES_API ses_status ses_policy_set_weight(ses_policy *policy, ses_requirement_kind kind,
                                         double weight);

/* HARD other than 0: an element that misses this kind is refused, even if the file is then not
 * placed at all.  0, the default: missing it only adds to the distance.  May be set before or
 * after the minimum.  Refused: KIND. */
SES_API ses_status ses_policy_set_hard(ses_policy *policy, ses_requirement_kind kind, int hard);

/* Say nothing about this kind any more: minimum, weight and hardness as in an empty policy.
 * Refused: KIND. */
SES_API ses_status ses_policy_clear(ses_policy *policy, ses_requirement_kind kind);

/* How large the file is going to be, in bytes; counted against the element's free space until the
 * file is closed.  Unknown unless set.  Refused: TOO_LARGE (beyond INT64_MAX). */
SES_API ses_status ses_policy_set_expected_size(ses_policy *policy, uint64_t bytes);

/* Over how many elements to spread the file, where the storage system can; 0, the default: as the
 * service chooses.  Refused: TOO_LARGE (beyond SES_STRIPE_COUNT_MAX). */
SES_API ses_status ses_policy_set_stripe_count(ses_policy *policy, unsigned count);

/* Bytes on one element before the next one's turn, where the storage system can: a multiple of
 * SES_STRIPE_SIZE_STEP up to SES_STRIPE_SIZE_MAX; 0, the default: as the service chooses.
 * Refused: STRIPE_SIZE, TOO_LARGE. */
SES_API ses_status ses_policy_set_stripe_size(ses_policy *policy, uint64_t bytes);

/* Only elements of this pool: at most 15 of A-Z a-z 0-9 _ - . ; NULL or "", the default: any.
 * The text is copied.  Refused: POOL. */
SES_API ses_status ses_policy_set_pool(ses_policy *policy, const char *pool);

/* Use what the portal says for this application of the calling user (at most 63 bytes) instead of
 * SES_APPLICATION or the program's own name; NULL takes that back.  The text is copied.
 * Refused: APPLICATION. */
SES_API ses_status ses_policy_set_application(ses_policy *policy, const char *application);

/* Who chose the element; the numbers never change. */
typedef enum ses_chooser {
  SES_CHOSEN_BY_NOBODY = 0,  /* the file was not placed */
  SES_CHOSEN_BY_PROGRAM = 1, /* this library, from the node's candidate table: nobody was asked */
  SES_CHOSEN_BY_AGENT = 2    /* the node's agent, when it was asked */
} ses_chooser;

/*
 * What became of one create.  Needs no initialisation: every create fills in
 * the whole struct, unused fields and `reserved` with zeros.  Its size is
 * part of the ABI; later fields take room from `reserved`.
 */
typedef struct ses_result {
  int32_t placed;       /* 1: the file is on `element` because of the policy; else 0 */
  int32_t reason;       /* ses_status: SES_OK if placed, else why not */
  int32_t create_errno; /* errno of open(2) when the create returned -1, else 0 */
  int32_t
      place_errno; /* with SES_NOT_PLACED_STEP_FAILED: errno of that step (0: unknown), else 0 */
  int32_t policy_status; /* ses_policy_status() of the policy that was used; SES_OK without one */
  int32_t chosen_by;     /* ses_chooser */
  uint64_t placement_id; /* what `ses explain` knows the placement by; 0 if not placed */
  double distance;       /* 0: meets every requirement; larger: falls short; -1 if not placed */
  char element[96];      /* "system/element", NUL-terminated; "" if not placed */
  uint64_t reserved[15]; /* 0 */
} ses_result;

/*
 * Create PATH for reading and writing where POLICY is served best:
 * open(PATH, O_RDWR | O_CREAT | O_TRUNC, MODE), as creat(2) but readable.  A
 * file that exists is emptied and stays where it is (SES_NOT_PLACED_EXISTS);
 * pass O_EXCL to ses_create_at() to refuse that.
 *
 * MODE is subject to the umask.  POLICY may be NULL: as the portal says.
 * RESULT may be NULL.
 *
 * Returns a descriptor that the caller owns and closes as any other, with
 * errno as before the call; or -1 with errno as open(2) sets it, and nothing
 * created.  Waits at most SES_SYNC_MS for a decision.  A descriptor is not
 * close-on-exec unless ses_create_at() is given O_CLOEXEC.
 */
SES_API SES_MUST_CHECK int ses_create(const char *path, mode_t mode, const ses_policy *policy,
                                      ses_result *result);

/*
 * The same as openat(DIRFD, PATH, FLAGS | O_CREAT, MODE): DIRFD a directory
 * or AT_FDCWD, FLAGS any that openat(2) takes.
 */
SES_API SES_MUST_CHECK int ses_create_at(int dirfd, const char *path, int flags, mode_t mode,
                                         const ses_policy *policy, ses_result *result);

/*
 * Where a file lies on Lustre: read once, from one moment.  The caller owns it
 * from ses_layout_read() to ses_layout_free().  May be read by many threads.
 */
typedef struct ses_layout ses_layout;

/* One component of a layout: a plain one has exactly one.  The size is part of the ABI; later
 * fields take room from `reserved`. */
typedef struct ses_component {
  uint64_t start;             /* bytes of the file, from here ... */
  uint64_t end;               /* ... to before here; UINT64_MAX: to the file's end */
  uint64_t stripe_size;       /* bytes; 0: the file system's own */
  uint32_t stripe_count;      /* 0: the file system's own; 65535: all OSTs */
  uint32_t osts;              /* objects it has: see ses_layout_osts() */
  int32_t on_metadata_server; /* 1: the data lie on the metadata server */
  char pool[20];              /* NUL-terminated; "": none */
  uint64_t reserved[9];       /* 0 */
} ses_component;

/*
 * The layout of PATH; of a directory, what it gives to new files.  NULL with
 * errno: ENODATA there is none yet (never opened for writing), EOPNOTSUPP not
 * on Lustre, EINVAL one this version does not understand, ENOMEM, or as
 * getxattr(2) sets it.
 */
SES_API SES_MUST_CHECK ses_layout *ses_layout_read(const char *path);

/* Give the memory back.  NULL is allowed. */
SES_API void ses_layout_free(ses_layout *layout);

/* How many components LAYOUT has; 0 for NULL. */
SES_API unsigned ses_layout_components(const ses_layout *layout);

/* Describe component NUMBER (from 0).  0, or -1 with errno EINVAL: there is none. */
SES_API int ses_layout_component(const ses_layout *layout, unsigned number,
                                 ses_component *component);

/* The indexes of the OSTs of component NUMBER, in the order of stripes, at most ROOM of them.
 * Returns how many there are. */
SES_API unsigned ses_layout_osts(const ses_layout *layout, unsigned number, uint32_t *osts,
                                 unsigned room);

/* A compute node that may run a task.  The size is part of the ABI; later fields take room from
 * `reserved`. */
typedef struct ses_node {
  double distance;       /* 0: meets every requirement; larger: falls short */
  double read_mb_s;      /* what a stream would get there; -1: not known */
  double write_mb_s;     /* the same */
  char name[128];        /* NUL-terminated */
  char element[96];      /* the best that the node reaches, "system/element" */
  uint64_t reserved[17]; /* 0 */
} ses_node;

/*
 * Find compute nodes for a task whose files need what POLICY says (NULL: as the
 * portal says): the best first, at most ROOM of them into NODES, out of AMONG
 * ("n[0001-0048]"; NULL: all).  COUNT above 1: as many nodes for one job with a
 * stream on each, spread over elements, servers and links.  Nodes that miss a hard
 * requirement are left out; nothing is reserved.  Stripes and pool do not count.
 *
 * Returns how many nodes, 0: none is left; or -1 with errno: ENOENT the command
 * `ses` is not in PATH, EHOSTUNREACH no service answers, EACCES it does not
 * accept the caller's token, EINVAL a value is refused, EPROTO or EIO it answers
 * otherwise.  Starts that command, and waits for it: some tenths of a second.  In
 * a program that reaps all its children the command may be reaped by it.
 */
SES_API SES_MUST_CHECK int ses_find_nodes(const ses_policy *policy, const char *among,
                                          unsigned count, ses_node *nodes, unsigned room);

/* A directory that was given.  The size is part of the ABI; later fields take room from `reserved`.
 */
typedef struct ses_place {
  char id[24];           /* what `ses release` knows it by, NUL-terminated, as the next two */
  char element[96];      /* "system/element" */
  char directory[4096];  /* absolute */
  uint64_t reserved[17]; /* 0 */
} ses_place;

/*
 * Have the service give a directory of SYSTEM, a storage system of directories, to
 * this process, where POLICY (NULL: as the portal says) is served best, and claim it:
 * the place counts as load, and as the expected size of POLICY, until the process ends
 * or ses_place_release().  NAME: make a directory of this name there (mode 0700),
 * with letters for X at its end ("run-XXXX"); NULL: the element's own.  It stays.
 *
 * 0 with PLACE filled in; or -1 with errno: ENOSPC none fits, or the service can give
 * none now, ENOENT the command `ses` is not in PATH, EHOSTUNREACH no service answers,
 * EACCES it does not accept the caller's token, EINVAL a value is refused, EPROTO or
 * EIO it answers otherwise.  Starts that command, and waits for it: some tenths of a
 * second.  In a program that reaps all its children the command may be reaped by it.
 */
SES_API SES_MUST_CHECK int ses_place_directory(const char *system, const ses_policy *policy,
                                               const char *name, ses_place *place);

/* End PLACE; the directory stays.  0, or -1 with errno as above; ENOENT: it is over. */
SES_API int ses_place_release(const ses_place *place);

/* Why an element takes no files now, or takes them last; ored. */
enum ses_load_state {
  SES_LOAD_REFUSES = 1,  /* it is full, switched off, read-only, draining, or not reachable */
  SES_LOAD_DEGRADED = 2, /* it takes files if no other element can */
  SES_LOAD_SCARCE = 4    /* of a tier that is spared where others do as well */
};

/* How loaded one element is.  64 bytes, part of the ABI.  NaN: not known. */
typedef struct ses_load {
  double read_mb_s;  /* what it gives at best to those who read from it */
  double write_mb_s; /* the same for writers */
  double free_gb;    /* free beyond what files that are open are expected to take */
  float own;         /* streams of files that were placed there */
  float foreign;     /* streams of everybody else, as estimated from the last sample */
  float busy;        /* part of its time in use at the last sample, 0 to 1 */
  uint32_t state;    /* enum ses_load_state */
  uint32_t number;   /* its place in the site's order, the same on all nodes */
  uint32_t reserved[5];
} ses_load;

typedef struct ses_loads ses_loads;

/*
 * The loads of all elements that files in DIRECTORY may go to, for programs that
 * choose themselves: a stream that starts now gets about
 * write_mb_s / (own + foreign + 1).  NULL with errno: ENODEV the directory lies on no
 * storage system that the node's agent describes, or there is no agent; else as
 * stat(2) and malloc(3) say.
 */
SES_API SES_MUST_CHECK ses_loads *ses_loads_open(const char *directory);

/* NULL is allowed. */
SES_API void ses_loads_close(ses_loads *loads);

/*
 * Copy the loads as they are at one moment into ROWS, at most ROOM of them.  AGE_SECONDS,
 * unless NULL, takes how long ago the service told them.  Returns how many elements there
 * are, or -1 with errno: ENODEV the agent is gone or describes the system no
 * more, EAGAIN the table was being written each time it was looked at, EINVAL LOADS is
 * NULL.  Makes no system call while the agent runs; one thread at a time.
 */
SES_API SES_MUST_CHECK int ses_loads_read(ses_loads *loads, ses_load *rows, unsigned room,
                                          double *age_seconds);

/* The element of a ROW of the last read, "system/element"; NULL: there is no such row.  Valid until
 * the next read. */
SES_API const char *ses_loads_element(const ses_loads *loads, unsigned row);

/* One English clause for a ses_status, without a full stop; never NULL, never freed, also for a
 * number this version does not know.  Safe in every thread. */
SES_API const char *ses_strerror(int status);

/* The library's version, "MAJOR.MINOR.PATCH", as found at run time; never freed. */
SES_API const char *ses_version(void);

#ifdef __cplusplus
}
#endif

#endif /* SES_SES_H */
