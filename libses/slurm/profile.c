#include "profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

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

bool ses_profile_read(const char *name, char *text, size_t size) {
  char *const arguments[] = {"ses", "requirements", "profile", "--", (char *)name, NULL};
  pid_t child = 0;
  int fd = -1;
  int error = ses_command_start(arguments, false, &child, &fd);
  if (error != 0) {
    fprintf(stderr, "The program ses, which knows profiles, cannot be started: %s\n",
            strerror(error));
    return false;
  }
  bool is_read = read_line(fd, text, size);
  close(fd);
  return ses_command_status(child) == 0 && is_read;
}
