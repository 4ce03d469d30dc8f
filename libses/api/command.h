/*
 * Starting the command `ses` and reading what it prints.
 */
#ifndef SES_COMMAND_H
#define SES_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts ARGUMENTS (the first is looked for in PATH) with its output into *FD, which the caller
 * closes; QUIET: what it complains of goes nowhere.  0, or an errno. */
int ses_command_start(char *const arguments[], bool quiet, pid_t *child, int *fd);

/* Waits for the end: the exit status, 255 for a signal; -1: somebody else has reaped it. */
int ses_command_status(pid_t child);

#endif /* SES_COMMAND_H */
