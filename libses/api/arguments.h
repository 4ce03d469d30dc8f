/*
 * The command line of `ses` for what a policy asks.
 */
#ifndef SES_ARGUMENTS_H
#define SES_ARGUMENTS_H

#include <stddef.h>

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

#endif /* SES_ARGUMENTS_H */
