#include "comment.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "runtime/clock.h"

#define FOR_FILES "2" /* seconds until the last of them are known to be closed */

/* Reads until the other end of FD is closed.  False: TIME (ms) came first. */
static bool read_out(int fd, uint64_t time) {
  char text[512];
  uint64_t now = 0;
  while ((now = ses_clock_ms()) < time) {
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    if (poll(&watched, 1, (int)(time - now)) > 0 && read(fd, text, sizeof text) <= 0)
      return true;
  }
  return false;
}

void ses_comment_write(uint32_t job, int timeout_s) {
  char number[16];
  char *const arguments[] = {"ses", "job", "--comment", "--wait", FOR_FILES, number, NULL};
  pid_t child = 0;
  int fd = -1;
  snprintf(number, sizeof number, "%u", job);
  if (ses_command_start(arguments, true, &child, &fd) != 0)
    return;
  bool is_out = read_out(fd, ses_clock_ms() + (uint64_t)timeout_s * 1000);
  if (!is_out)
    kill(child, SIGKILL);
  close(fd);
  ses_command_status(child);
}
