/*
 * ses_find_nodes: compute nodes for a task, by the command `ses`, which knows the service, its
 * proof and the caller's token.
 *
 * Does NOT speak HTTP itself, and remembers nothing.
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "policy.h"

#define LINE_MAX_BYTES 1024
#define NUMBER_MAX 80 /* bytes of a requirement or number as text */
#define MAX_ARGUMENTS 24

_Static_assert(sizeof(ses_node) == 384, "the size of a node is part of the ABI");

struct command {
  char *arguments[MAX_ARGUMENTS];
  size_t count;
  char texts[SES_REQUIREMENTS_MAX + 3][NUMBER_MAX];
  size_t used;
};

static void add(struct command *command, const char *argument) {
  command->arguments[command->count++] = (char *)argument;
  command->arguments[command->count] = NULL;
}

static char *room_for_text(struct command *command) { return command->texts[command->used++]; }

static void add_number(struct command *command, const char *option, unsigned number) {
  char *text = room_for_text(command);
  snprintf(text, NUMBER_MAX, "%u", number);
  add(command, option);
  add(command, text);
}

static void add_requirement(struct command *command,
                            const struct ses_wire_requirement *requirement) {
  static const char *const kinds[] = {NULL,
                                      "current-read-rate",
                                      "average-read-rate",
                                      "current-write-rate",
                                      "average-write-rate",
                                      "free-capacity"};
  char *text = room_for_text(command);
  snprintf(text, NUMBER_MAX, "%s>=%.9g%s%s,weight=%.9g", kinds[requirement->kind],
           requirement->minimum, requirement->kind == SES_KIND_FREE_CAPACITY ? "GB" : "MB/s",
           requirement->hard ? ",hard" : "", requirement->weight);
  add(command, text);
}

static void state(struct command *command, const ses_policy *policy, const char *among,
                  unsigned count, unsigned room) {
  struct ses_need need;
  ses_policy_need(policy, &need);
  static const char *const begin[] = {"ses", "nodes", "rank", "--lines"};
  for (size_t i = 0; i < sizeof begin / sizeof begin[0]; i++)
    add(command, begin[i]);
  add_number(command, "--count", count);
  add_number(command, "--limit", room);
  if (among) {
    add(command, "--nodes");
    add(command, among);
  }
  if (need.application) {
    add(command, "--application");
    add(command, need.application);
  }
  if (need.expected_bytes > 0) {
    char *text = room_for_text(command);
    snprintf(text, NUMBER_MAX, "%.6fMB", (double)need.expected_bytes / 1e6);
    add(command, "--size");
    add(command, text);
  }
  add(command, "--");
  for (unsigned i = 0; i < need.requirement_count; i++)
    if (need.requirements[i].minimum > 0)
      add_requirement(command, &need.requirements[i]);
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

/* Takes over FD.  How many nodes; -1: a line is not understood. */
static int read_nodes(int fd, ses_node *nodes, unsigned room) {
  char line[LINE_MAX_BYTES];
  FILE *answer = fdopen(fd, "r");
  unsigned found = 0;
  int understood = answer != NULL;
  while (understood && fgets(line, sizeof line, answer))
    if (found < room)
      understood = read_node(line, &nodes[found++]);
  if (answer)
    fclose(answer);
  else
    close(fd);
  return understood ? (int)found : -1;
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
  struct command command = {.count = 0};
  pid_t child = 0;
  int fd = -1;
  state(&command, policy, among, count, room);
  int error = ses_command_start(command.arguments, true, &child, &fd);
  if (error != 0) {
    errno = error;
    return -1;
  }
  int found = read_nodes(fd, nodes, room);
  error = error_of(child);
  if (error == 0 && found >= 0)
    return found;
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
  int found = find(policy, among, count, nodes, room);
  int error = errno;
  uselocale(before);
  freelocale(plain);
  errno = error;
  return found;
}
