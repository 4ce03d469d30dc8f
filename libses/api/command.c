#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int ses_command_start(char *const arguments[], bool quiet, pid_t *child, int *fd) {
  posix_spawn_file_actions_t actions;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return errno;
  int error = posix_spawn_file_actions_init(&actions);
  if (error == 0) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (quiet)
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    error = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
  }
  close(ends[1]);
  if (error != 0)
    close(ends[0]);
  *fd = ends[0];
  return error;
}

int ses_command_status(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* 0 at the end of what FD gives, or an errno. */
static int read_all(int fd, int timeout_ms, char *text, size_t size) {
  const int64_t end = now_ms() + timeout_ms;
  size_t length = 0;
  char more[512];
  int result = 0;
  for (ssize_t got = 1; got != 0;) {
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    const int64_t left = end - now_ms();
    const bool has_room = length + 1 < size;
    got = timeout_ms < 0 ? poll(&watched, 1, -1) : left > 0 ? poll(&watched, 1, (int)left) : 0;
    if (got == 0)
      return ETIMEDOUT;
    if (got > 0)
      got = has_room ? read(fd, text + length, size - 1 - length) : read(fd, more, sizeof more);
    if (got < 0 && errno != EINTR)
      return errno;
    if (got > 0 && has_room)
      length += (size_t)got;
    else if (got > 0)
      result = EMSGSIZE;
  }
  if (size > 0)
    text[length > 0 && text[length - 1] == '\n' ? length - 1 : length] = '\0';
  return result;
}

int ses_command_read(char *const arguments[], bool quiet, int timeout_ms, char *text, size_t size,
                     int *status) {
  pid_t child = 0;
  int fd = -1;
  int error = ses_command_start(arguments, quiet, &child, &fd);
  if (error != 0)
    return error;
  if (size > 0)
    *text = '\0';
  error = read_all(fd, timeout_ms, text, size);
  if (error == ETIMEDOUT)
    kill(child, SIGKILL);
  close(fd);
  *status = ses_command_status(child);
  return error;
}
