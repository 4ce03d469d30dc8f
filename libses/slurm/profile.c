#include "profile.h"

#include <stdio.h>
#include <string.h>

#include "command.h"

bool ses_profile_read(const char *name, char *text, size_t size) {
  char *const arguments[] = {"ses", "requirements", "profile", "--", (char *)name, NULL};
  int status = -2;
  int error = ses_command_read(arguments, false, -1, text, size, &status);
  if (status == -2)
    fprintf(stderr, "The program ses, which knows profiles, cannot be started: %s\n",
            strerror(error));
  return error == 0 && status == 0;
}
