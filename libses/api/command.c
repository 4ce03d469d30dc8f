#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
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
