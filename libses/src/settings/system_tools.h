/*
 * The system's programs that scripts run by the thousand and that create no
 * files: the library stays asleep in them.  SES_APPLICATION wakes it.
 *
 * By path, so that a program of somebody's own called "test" is served.  Not
 * among them: shells (they create what is redirected to) and whatever has an
 * option to write a file.
 */
#ifndef SES_SYSTEM_TOOLS_H
#define SES_SYSTEM_TOOLS_H

#include <stdbool.h>

/* PATH as the program was started by; NULL counts as not known. */
bool ses_is_system_tool(const char *path);

#endif /* SES_SYSTEM_TOOLS_H */
