/*
 * One conversation with the agent (ses/protocol.h): open, wait, report.
 *
 * The socket is moved away from the lowest free number, which belongs to the
 * program's file, and from 0-2.  Neither it nor the handle that goes with the
 * report outlives the conversation.  Nothing that comes back is believed
 * before every field has been checked, nor anything from a peer that is
 * neither root nor the caller.
 */
#ifndef SES_ASK_H
#define SES_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "request/outcome.h"

struct ses_conversation {
  int fd;           /* -1: closed */
  int64_t deadline; /* of the answer; nanoseconds of CLOCK_MONOTONIC; 0: none yet */
};

/* True in a process where a socket is safe: not under a seccomp filter, which might kill for it,
 * and not in a child of vfork() or a bare clone(), which runs on its parent's memory. */
int ses_ask_allowed(void);

/* Connect and send ASK (its header is filled in here); never waits.  The deadline is SES_SYNC_MS
 * from now, unless there is one (not 0) of a conversation before.
 * SES_PLACE_PLACED: sent.  SES_PLACE_NO_AGENT: not, and the conversation is closed. */
enum ses_place_status ses_ask_open(struct ses_conversation *conversation, struct ses_ask *ask);

/* Wait for the answer until the deadline.  SES_PLACE_PLACED: ANSWER holds a checked placement and
 * the conversation stays open for the report.  Otherwise it is closed, and the status is
 * SES_PLACE_NOT_MANAGED, SES_PLACE_NO_DECISION or SES_PLACE_NO_ANSWER. */
enum ses_place_status ses_ask_wait(struct ses_conversation *conversation,
                                   struct ses_answer *answer);

/* An O_PATH descriptor of the created file FD to send with the report: it gives no access, holds no
 * lock, and its close is no close of the file.  Opened through /proc, which asks the file system
 * nothing.  -errno when there is none to be had. */
int ses_ask_open_handle(int fd);

/* Send REPORT (its header is filled in here), with HANDLE unless that is negative or cannot be
 * sent, and close HANDLE.  Never waits; a lost report costs the agent some knowledge, the program
 * nothing. */
void ses_ask_report(struct ses_conversation *conversation, struct ses_report *report, int handle);

/* Wait until the agent has taken the report in, at most until the deadline; false: it has not. */
bool ses_ask_wait_for_end(const struct ses_conversation *conversation);

/* Close.  Without a report: the placement was not used. */
void ses_ask_close(struct ses_conversation *conversation);

#endif /* SES_ASK_H */
