/*
 * The selection service is asked by the command `ses`, which knows the service, its proof and the
 * caller's token, and decides as `ses run-near` does.
 */
#include "place.h"

#include <stdio.h>
#include <string.h>

#include "command.h"

static const char *why(int status) {
  static const char *const texts[] = {
      NULL,
      "the selection service failed",
      "the command ses does not understand the question",
      "the selection service does not answer",
      "the selection service does not accept the token",
      "no one node is known to hold it",
  };
  return status > 0 && (size_t)status < sizeof texts / sizeof texts[0] ? texts[status]
                                                                       : "the command ses failed";
}

bool offload_node_of(const char *path, char *address, size_t room, char *reason,
                     size_t reason_room) {
  char *const words[] = {"ses", "nodes", "of", "--address", "--", (char *)path, NULL};
  int status = -2;
  int error = ses_command_read(words, true, -1, address, room, &status);
  if (status == -2) {
    snprintf(reason, reason_room, "the command ses cannot be started: %s", strerror(error));
    return false;
  }
  if (error == 0 && *address && status <= 0) /* below 0: a handler of the program's has reaped it */
    return true;
  snprintf(reason, reason_room, "%.300s: %s (ses nodes of says more)", path, why(status));
  return false;
}
