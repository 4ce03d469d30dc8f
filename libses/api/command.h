/*
 * Starting the command `ses` and reading what it prints.
 */
#ifndef SES_COMMAND_H
#define SES_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "policy.h"

#define SES_COMMAND_NUMBER 80 /* bytes of a requirement or number as text */
#define SES_COMMAND_ARGUMENTS 32

/* A command line as it is put together, with room for what is written of numbers; begins all zero.
 */
struct ses_command {
  char *arguments[SES_COMMAND_ARGUMENTS];
  size_t count;
  char texts[SES_REQUIREMENTS_MAX + 4][SES_COMMAND_NUMBER];
  size_t used;
};

/* ARGUMENT must outlive COMMAND. */
void ses_command_add(struct ses_command *command, const char *argument);
void ses_command_add_number(struct ses_command *command, const char *option, unsigned number);
/* --application and --size, as POLICY says. */
void ses_command_add_subject(struct ses_command *command, const struct ses_need *need);
/* Each minimum of POLICY, behind OPTION if that is not NULL. */
void ses_command_add_needs(struct ses_command *command, const struct ses_need *need,
                           const char *option);

/* Starts ARGUMENTS (the first is looked for in PATH) with its output into *FD, which the caller
 * closes; QUIET: what it complains of goes nowhere.  0, or an errno. */
int ses_command_start(char *const arguments[], bool quiet, pid_t *child, int *fd);

/* Waits for the end: the exit status, 255 for a signal; -1: somebody else has reaped it. */
int ses_command_status(pid_t child);

#endif /* SES_COMMAND_H */
