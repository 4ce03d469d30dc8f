#include "profile.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whole, without the end of the line.  False: it is longer. */
static bool read_line(int fd, char *text, size_t size) {
  size_t length = 0;
  ssize_t got = 0;
  while (length < size && (got = read(fd, text + length, size - length)) != 0) {
    if (got < 0 && errno != EINTR)
      return false;
    length += got > 0 ? (size_t)got : 0;
  }
  if (length == size)
    return false;
  text[length] = '\0';
  text[strcspn(text, "\n")] = '\0';
  return true;
}

static bool ended_well(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool ses_profile_read(const char *name, char *text, size_t size) {
  char *const arguments[] = {"ses", "requirements", "profile", "--", (char *)name, NULL};
  posix_spawn_file_actions_t actions;
  int ends[2];
  pid_t child = 0;
  if (pipe2(ends, O_CLOEXEC) != 0)
    return false;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  int error = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0)
    fprintf(stderr, "The program ses, which knows profiles, cannot be started: %s\n",
            strerror(error));
  bool is_read = error == 0 && read_line(ends[0], text, size);
  close(ends[0]);
  return error == 0 && ended_well(child) && is_read;
}
