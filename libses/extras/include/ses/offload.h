/*
 * libses-offload: call a function of this program where its data lie.
 *
 * A function that reads much and returns little runs faster on the node that
 * holds the file than here.  The same binary is started on that node in a
 * second role, the storage part, and runs the function there; arguments and
 * results are copied between the two.  The interface is Table I of ORCA (Zhang
 * et al., "ORCA: An Offloading Framework for I/O-Intensive Applications on
 * Clusters"), with errors, types and asynchronous calls added.
 *
 *     static int count(const void *in, void *out) {     // runs on either node
 *       *(long *)out = words_of(*(char *const *)in);
 *       return 0;
 *     }
 *     int main(int argc, char **argv) {
 *       ses_offload_init(&argc, &argv);                  // which role is this?
 *       SES_OFFLOAD_FUNCTION(count, &ses_type_string, &ses_type_long);
 *       ses_offload_serve();                             // storage part: never returns
 *       long words;
 *       char *path = "/data/big.txt";
 *       ses_offload_domain *store;
 *       if (ses_offload_open("store1", NULL, &store) == SES_OFFLOAD_OK)
 *         ses_offload_call(store, "count", &path, &words, NULL);
 *       ses_offload_close(store);
 *     }
 *
 * Every function that can fail returns a ses_offload_status; SES_OFFLOAD_OK
 * is 0.  Nothing is printed, and no signal handler is installed.
 *
 * Threads: register from one thread before the first call.  After that every
 * function may be called from any thread; a future belongs to one thread at a
 * time.  A child of fork() cannot use domains of its parent.
 *
 * Trust: the storage part runs as the calling user, started by ssh, srun or a
 * command of the caller's, and never as root.  It listens on one address
 * for one client, whose key it was given through that start, and ends when the
 * client goes.  All that travels is encrypted and authenticated (CurveZMQ).
 * Only registered functions can be called.
 */
#ifndef SES_OFFLOAD_H
#define SES_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ses/offload_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call can say.  The numbers never change. */
typedef enum ses_offload_status {
  SES_OFFLOAD_OK = 0,
  SES_OFFLOAD_INVALID = 1,       /* an argument makes no sense, or init was not called */
  SES_OFFLOAD_MEMORY = 2,        /* memory is short */
  SES_OFFLOAD_NO_FUNCTION = 3,   /* no function of that name is registered */
  SES_OFFLOAD_FULL = 4,          /* no room for another function or global */
  SES_OFFLOAD_BAD_DATA = 5,      /* data do not fit the type, or cannot be written */
  SES_OFFLOAD_TOO_LARGE = 6,     /* more than SES_OFFLOAD_MESSAGE_MAX bytes */
  SES_OFFLOAD_NOT_STARTED = 7,   /* the storage part could not be started */
  SES_OFFLOAD_OTHER_VERSION = 8, /* another build answers: other functions or types */
  SES_OFFLOAD_LOST = 9,          /* the storage part ended, or its node was lost */
  SES_OFFLOAD_FAILED = 10,       /* the function itself returned other than 0 */
  SES_OFFLOAD_CANCELLED = 11,    /* ses_offload_cancel came first */
  SES_OFFLOAD_NOT_YET = 12,      /* the call has not ended; only poll and wait say so */
  SES_OFFLOAD_FORKED = 13,       /* the domain is of the parent process */
} ses_offload_status;

#define SES_OFFLOAD_MESSAGE_MAX (64u << 20) /* bytes of one call's arguments, or of its results */
#define SES_OFFLOAD_FUNCTIONS_MAX 256u
#define SES_OFFLOAD_GLOBALS_MAX 64u
#define SES_OFFLOAD_NODES_MAX 8u /* of which a domain is on the least loaded */

/* What a status means: one English clause without a full stop, valid for ever. */
SES_OFFLOAD_API const char *ses_offload_strerror(int status);

/* ---- roles ---------------------------------------------------------------------------------- */

/* Decides the role: the dedicated argument that the storage part is started with is taken out of
 * ARGV.  Call it first in main.  OK, INVALID. */
SES_OFFLOAD_API int ses_offload_init(int *argc, char ***argv);

/* For programs that an interpreter runs: the command that starts the storage part, a list that
 * ends with NULL and is copied.  Default: this executable.  OK, INVALID, MEMORY. */
SES_OFFLOAD_API int ses_offload_set_command(const char *const *command);

/* Call it once everything is registered.  In the storage part it serves until the client goes, and
 * does not return; elsewhere it returns at once. */
SES_OFFLOAD_API void ses_offload_serve(void);

/* ---- what can be called --------------------------------------------------------------------- */

/* Registers a function under a name; IN and OUT are the types of what it gets and gives, NULL for
 * nothing.  Names are copied, types must live as long as the program.  Registering a name again
 * replaces it.  OK, INVALID, FULL. */
SES_OFFLOAD_API int ses_offload_register_function(const char *name, ses_offload_function function,
                                                  const ses_offload_type *in,
                                                  const ses_offload_type *out);
#define SES_OFFLOAD_FUNCTION(function, in, out)                                                    \
  ses_offload_register_function(#function, function, in, out)

/* The name of a registered function, or NULL. */
SES_OFFLOAD_API const char *ses_offload_find_name_by_func_addr(ses_offload_function function);
/* The function of a name, or NULL. */
SES_OFFLOAD_API ses_offload_function ses_offload_find_func_by_name(const char *name);

/* Registers a global variable.  Every call carries its value at that moment, and the storage part
 * sets it before the function runs.  What the function changed comes back with the result; it is
 * set here by the call, or by ses_offload_wait.  Before a value is replaced, what the old one
 * points to is freed, so pointers must come from malloc.  OK, INVALID, FULL. */
SES_OFFLOAD_API int ses_offload_register_global(const char *name, void *variable,
                                                const ses_offload_type *type);
#define SES_OFFLOAD_GLOBAL(variable, type) ses_offload_register_global(#variable, &(variable), type)

/* Within an offloaded function: text that explains the non-zero value it is about to return. */
SES_OFFLOAD_API void ses_offload_explain(const char *text);
/* Within an offloaded function: does its caller want it to stop? */
SES_OFFLOAD_API bool ses_offload_is_cancelled(void);

/* ---- domains -------------------------------------------------------------------------------- */

/* What may run in this process when the node does not serve. */
typedef enum ses_offload_fallback {
  SES_OFFLOAD_FALLBACK_NEVER = 0,
  SES_OFFLOAD_FALLBACK_START = 1,  /* calls of a domain whose storage part did not start */
  SES_OFFLOAD_FALLBACK_ALWAYS = 2, /* also calls that were lost: the functions can be repeated */
} ses_offload_fallback;

/* How a storage part is started.  Zero means the default. */
typedef struct ses_offload_options {
  const char *rsh;     /* command that runs what follows it on the node, such as "ssh -F my.conf";
                          words are parted by spaces, %n is the node */
  const char *program; /* the program's path there; default: the one that EXECUTABLE.nodes names for
                          the node (`ses offload deploy` makes that file), else as here */
  const char *address; /* the address to listen on there, %n is the node; default: the one that
                          ssh reached, or the one of the node's name */
  unsigned start_seconds; /* longest wait for the start; default 30 */
  int fallback;           /* a ses_offload_fallback */
} ses_offload_options;

/* An offloading domain: one storage part, a process of its own.  Domains share nothing, also on the
 * same node, so that many programs can use one node and one program many nodes. */
typedef struct ses_offload_domain ses_offload_domain;

/* Starts a storage part.  ADDRESS is "NODE" or "ssh:NODE" (by ssh), "slurm:NODE" (by srun, in the
 * caller's allocation if there is one), "command:NODE" (by options.rsh), or "here" (another process
 * on this machine), or several of these, parted by commas: a storage part is started on each, and
 * that stays whose node has fewest programs for each processor.  OPTIONS may be NULL.  The
 * functions of a storage part can open domains, too: they end with it.  OK, INVALID, MEMORY,
 * NOT_STARTED, OTHER_VERSION; with a fallback OK in place of NOT_STARTED.  ses_offload_reason says
 * more. */
SES_OFFLOAD_API int ses_offload_open(const char *address, const ses_offload_options *options,
                                     ses_offload_domain **domain);

/* The same on the node that holds a file, "here" if that is this one.  The command `ses nodes of`
 * is asked for it, so also NOT_STARTED when no one node is known to hold the file. */
SES_OFFLOAD_API int ses_offload_open_file(const char *path, const ses_offload_options *options,
                                          ses_offload_domain **domain);

/* Ends the storage part at once, also a function that runs.  Free its futures before.  NULL is
 * allowed. */
SES_OFFLOAD_API void ses_offload_close(ses_offload_domain *domain);

/* Why this thread's last ses_offload_open failed or fell back; "" if it did not.  Valid until its
 * next call of it. */
SES_OFFLOAD_API const char *ses_offload_reason(void);

/* ---- calls ---------------------------------------------------------------------------------- */

/* How a call went.  CPU seconds include children that the function waited for. */
typedef struct ses_offload_report {
  int status;              /* a ses_offload_status */
  int function_status;     /* what the function returned */
  bool ran_here;           /* in this process, as a fallback */
  uint64_t bytes_sent;     /* of the request, without what the transport adds */
  uint64_t bytes_received; /* of the reply */
  double seconds;          /* the function ran */
  double cpu_seconds;      /* that it used */
  char message[256];       /* why it failed, or "" */
} ses_offload_report;

/* Runs a function and waits for it.  IN and OUT point to objects of the types it was registered
 * with.  What OUT then points to is released by ses_offload_release; OUT is untouched unless OK.
 * REPORT may be NULL.  OK, INVALID, MEMORY, NO_FUNCTION, BAD_DATA, TOO_LARGE, LOST, FAILED, FORKED.
 */
SES_OFFLOAD_API int ses_offload_call(ses_offload_domain *domain, const char *name, const void *in,
                                     void *out, ses_offload_report *report);

/* Runs one function where a file lies, in a storage part of its own: ses_offload_open_file, a call,
 * and ses_offload_close.  For many calls open once.  What either of them returns. */
SES_OFFLOAD_API int ses_offload_call_file(const char *path, const ses_offload_options *options,
                                          const char *name, const void *in, void *out,
                                          ses_offload_report *report);

/* A call on its way.  IN is copied before ses_offload_start returns.  Calls of one domain run in
 * the order they were started, one at a time. */
typedef struct ses_offload_future ses_offload_future;
SES_OFFLOAD_API int ses_offload_start(ses_offload_domain *domain, const char *name, const void *in,
                                      ses_offload_future **future);

/* Has it ended?  Its status, or NOT_YET.  Never waits. */
SES_OFFLOAD_API int ses_offload_poll(ses_offload_future *future);

/* Waits at most so many seconds (negative: for ever) and gives the result, once: then the future is
 * used up, and a later wait says INVALID.  NOT_YET when the time is over. */
SES_OFFLOAD_API int ses_offload_wait(ses_offload_future *future, double seconds, void *out,
                                     ses_offload_report *report);

/* Gives the call up: one that still waits in the storage part does not run; for one that runs
 * ses_offload_is_cancelled becomes true.  The future says CANCELLED, unless it has ended. */
SES_OFFLOAD_API void ses_offload_cancel(ses_offload_future *future);

/* Gives up and frees.  NULL is allowed.  */
SES_OFFLOAD_API void ses_offload_free(ses_offload_future *future);

#ifdef __cplusplus
}
#endif

#endif /* SES_OFFLOAD_H */
