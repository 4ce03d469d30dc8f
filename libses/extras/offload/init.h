/*
 * Which role this process has, and how its storage part is started.
 */
#ifndef SES_OFFLOAD_INIT_H
#define SES_OFFLOAD_INIT_H

#include <stdbool.h>

bool offload_is_initialised(void);
bool offload_is_storage_part(void);
/* Is this a storage part that serves?  Then its functions may open domains as other programs do. */
bool offload_is_serving(void);
void offload_set_serving(void);
/* The address to be checked, and the command that reaches it or NULL; NULL: none is asked for. */
const char *offload_checked(const char **rsh);
/* The command without the argument of the role, ends with NULL. */
char *const *offload_command(void);

#endif /* SES_OFFLOAD_INIT_H */
