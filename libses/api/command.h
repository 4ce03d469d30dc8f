/*
 * Starting the command `ses` and reading what it prints.
 */
#ifndef SES_COMMAND_H
#define SES_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Starts ARGUMENTS (the first is looked for in PATH) with its output into *FD, which the caller
 * closes; QUIET: what it complains of goes nowhere.  0, or an errno. */
int ses_command_start(char *const arguments[], bool quiet, pid_t *child, int *fd);

/* Runs ARGUMENTS for TIMEOUT_MS at most (below 0: for ever), then kills them.  What is printed goes
 * into TEXT, which has room for SIZE bytes, without the newline at its end; STATUS is as below.
 * 0, or an errno: ETIMEDOUT, EMSGSIZE where more was printed, or why nothing was started, which
 * leaves STATUS as it was. */
int ses_command_read(char *const arguments[], bool quiet, int timeout_ms, char *text, size_t size,
                     int *status);

/* Waits for the end: the exit status, 255 for a signal; -1: somebody else has reaped it. */
int ses_command_status(pid_t child);

#endif /* SES_COMMAND_H */
