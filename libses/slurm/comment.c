#include "comment.h"

#include <stdio.h>

#include "command.h"

#define FOR_FILES "2" /* seconds until the last of them are known to be closed */

void ses_comment_write(uint32_t job, int timeout_s) {
  char number[16];
  char *const arguments[] = {"ses", "job", "--comment", "--wait", FOR_FILES, number, NULL};
  int status = 0;
  snprintf(number, sizeof number, "%u", job);
  ses_command_read(arguments, true, timeout_s * 1000, NULL, 0, &status);
}
