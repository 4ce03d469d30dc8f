/*
 * The settings in the environment, read once when the library is loaded, while the
 * process has one thread.  Later changes of the environment are not seen.
 *
 * A program that runs with more rights than its caller (AT_SECURE) gets the
 * defaults: its caller's environment is not to be trusted.
 */
#ifndef SES_SETTINGS_H
#define SES_SETTINGS_H

#include <stdbool.h>
#include <sys/un.h>

#include "ses/claims.h"
#include "ses/protocol.h"
#include "settings/require.h"

struct ses_settings {
  bool ready;               /* false until read: calls before that are passed on */
  bool secure;              /* the program runs with more rights than its caller */
  bool is_system_tool;      /* one of system_tools.h: nothing but this and `disabled` is read */
  bool disabled;            /* SES_DISABLE is set, and not to 0, or `is_system_tool` */
  bool filter_is_known;     /* by SES_FILTERS: known_filter.h */
  bool lustre_standin;      /* SES_LUSTRE_STANDIN is set, and not to 0: tests only */
  bool is_named;            /* SES_APPLICATION is set */
  bool valgrind;            /* this process is simulated by it */
  unsigned sync_ms;         /* SES_SYNC_MS: longest wait for the agent; 0: never ask */
  struct sockaddr_un agent; /* SES_AGENT_SOCKET; an empty path: one that does not fit */
  char program[256];        /* its short name, which the kernel lets be no longer */
  char application[SES_APPLICATION_MAX]; /* SES_APPLICATION, else the short name; empty: neither
                                          * fits */
  uint64_t application_hash;             /* ses_segment_hash() of it */
  struct ses_rank rank;                  /* of this process in its job */
  char job[SES_JOB_MAX];  /* what the batch system calls it; empty: none, or it does not fit */
  uintptr_t stack_top;    /* an address above every frame of the first thread; 0: not known */
  const char *log;        /* SES_LOG: an absolute path; NULL: none */
  const char *include;    /* SES_INCLUDE; NULL: not given */
  const char *exclude;    /* SES_EXCLUDE; NULL: not given */
  unsigned require_count; /* SES_REQUIRE; 0: not given or not understood */
  /* What was set aside, or NULL; in the environment, so to be read by constructors alone. */
  const char *require_wrong;     /* from where on it was not understood */
  const char *application_wrong; /* SES_APPLICATION, which is too long */
  const char *job_wrong;         /* the same of the job */
  struct ses_wire_requirement require[SES_REQUIRE_KINDS];
};

/* The settings of this process; never NULL, constant once `ready`. */
const struct ses_settings *ses_settings(void);

#endif /* SES_SETTINGS_H */
