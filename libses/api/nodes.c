/*
 * ses_find_nodes: compute nodes for a task, by the command `ses`, which knows the service, its
 * proof and the caller's token.
 *
 * Does NOT speak HTTP itself, and remembers nothing.
 */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "policy.h"

#define LINE_MAX_BYTES 1024

_Static_assert(sizeof(ses_node) == 384, "the size of a node is part of the ABI");

static void state(struct ses_command *command, const ses_policy *policy, const char *among,
                  unsigned count, unsigned room) {
  struct ses_need need;
  ses_policy_need(policy, &need);
  static const char *const begin[] = {"ses", "nodes", "rank", "--lines"};
  for (size_t i = 0; i < sizeof begin / sizeof begin[0]; i++)
    ses_command_add(command, begin[i]);
  ses_command_add_number(command, "--count", count);
  ses_command_add_number(command, "--limit", room);
  if (among) {
    ses_command_add(command, "--nodes");
    ses_command_add(command, among);
  }
  ses_command_add_subject(command, &need);
  ses_command_add(command, "--");
  ses_command_add_needs(command, &need, NULL);
}

/* "NAME DISTANCE READ WRITE ELEMENT"; "-" for a rate that is not known. */
static int read_node(char *line, ses_node *node) {
  char *left = NULL, *fields[5];
  for (int i = 0; i < 5; i++)
    if (!(fields[i] = strtok_r(i == 0 ? line : NULL, " \n", &left)))
      return 0;
  memset(node, 0, sizeof *node);
  if (strlen(fields[0]) >= sizeof node->name || strlen(fields[4]) >= sizeof node->element)
    return 0;
  strcpy(node->name, fields[0]);
  strcpy(node->element, fields[4]);
  node->distance = strtod(fields[1], NULL);
  node->read_mb_s = *fields[2] == '-' ? -1 : strtod(fields[2], NULL);
  node->write_mb_s = *fields[3] == '-' ? -1 : strtod(fields[3], NULL);
  return 1;
}

/* The next line of what FD gives, with one read for each byte: a stream loses what it has of a line
 * when a signal comes.  Its length; 0: there is none. */
static size_t read_line(int fd, char line[LINE_MAX_BYTES]) {
  size_t length = 0;
  while (length + 1 < LINE_MAX_BYTES) {
    ssize_t got = read(fd, line + length, 1);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0 || line[length++] == '\n')
      break;
  }
  line[length] = '\0';
  return length;
}

/* Takes over FD.  How many nodes; -1: a line is not understood. */
static int read_nodes(int fd, ses_node *nodes, unsigned room) {
  char line[LINE_MAX_BYTES];
  unsigned count = 0;
  int understood = 1;
  while (understood && read_line(fd, line) > 0)
    if (count < room)
      understood = read_node(line, &nodes[count++]);
  close(fd);
  return understood ? (int)count : -1;
}

/* The errno for how the command ended; 0: well, or without a node, or it was reaped by a handler of
 * the program's. */
static int error_of(pid_t child) {
  static const int errors[] = {0, EIO, EINVAL, EHOSTUNREACH, EACCES, 0};
  int status = ses_command_status(child);
  if (status < 0)
    return 0;
  return status < (int)(sizeof errors / sizeof errors[0]) ? errors[status] : EIO;
}

static int find(const ses_policy *policy, const char *among, unsigned count, ses_node *nodes,
                unsigned room) {
  struct ses_command command = {.count = 0};
  pid_t child = 0;
  int fd = -1;
  state(&command, policy, among, count, room);
  int error = ses_command_start(command.arguments, true, &child, &fd);
  if (error != 0) {
    errno = error;
    return -1;
  }
  int node_count = read_nodes(fd, nodes, room);
  error = error_of(child);
  if (error == 0 && node_count >= 0)
    return node_count;
  errno = error ? error : EPROTO;
  return -1;
}

int ses_find_nodes(const ses_policy *policy, const char *among, unsigned count, ses_node *nodes,
                   unsigned room) {
  if (count == 0 || room == 0 || !nodes) {
    errno = EINVAL;
    return -1;
  }
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* numbers are written with a point */
  if (!plain)
    return -1;
  locale_t before = uselocale(plain);
  int node_count = find(policy, among, count, nodes, room);
  int error = errno;
  uselocale(before);
  freelocale(plain);
  errno = error;
  return node_count;
}
