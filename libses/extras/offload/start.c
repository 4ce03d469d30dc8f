#include "start.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "deployed.h"
#include "greeting.h"
#include "init.h"
#include "registry.h"

#define WORDS_MAX 96
#define START_SECONDS 30
#define END_MS 5000

struct words {
  char *word[WORDS_MAX + 1];
  size_t count;
  bool short_of; /* room or memory */
};

static void add(struct words *to, const char *word) {
  if (to->count < WORDS_MAX && (to->word[to->count] = strdup(word)))
    to->count++;
  else
    to->short_of = true;
}

static void add_all(struct words *to, const char *const *from) {
  for (; *from; from++)
    add(to, *from);
}

/* With NODE in place of each %n; the caller frees. */
static char *with_node(const char *text, const char *node) {
  char *result = NULL;
  size_t size;
  FILE *out = open_memstream(&result, &size);
  for (; out && *text; text++)
    if (text[0] == '%' && text[1] == 'n') {
      fputs(node, out);
      text++;
    } else
      fputc(*text, out);
  if (out)
    fclose(out);
  return result;
}

static void add_rsh(struct words *to, const char *rsh, const char *node) {
  char *text = with_node(rsh, node), *left = NULL;
  for (char *word = text ? strtok_r(text, " ", &left) : NULL; word;
       word = strtok_r(NULL, " ", &left))
    add(to, word);
  free(text);
}

/* The words of a command as one that a shell reads back; the caller frees. */
static char *quoted(char *const *words) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  for (; out && *words; words++) {
    fputc('\'', out);
    for (const char *at = *words; *at; at++)
      if (*at == '\'')
        fputs("'\\''", out);
      else
        fputc(*at, out);
    fputs("' ", out);
  }
  if (out)
    fclose(out);
  return text;
}

/* The storage part's own command on a node. */
static void add_part(struct words *to, const char *node, const ses_offload_options *options) {
  char *const *own = offload_command();
  char *deployed = options->program || own[1] ? NULL : offload_deployed_on(own[0], node);
  add(to, options->program ? options->program : deployed ? deployed : own[0]);
  for (size_t i = 1; own[i]; i++)
    add(to, own[i]);
  add(to, OFFLOAD_SERVE);
  free(deployed);
}

static bool has_prefix(const char **address, const char *prefix) {
  size_t size = strlen(prefix);
  if (strncmp(*address, prefix, size) != 0)
    return false;
  *address += size;
  return true;
}

/* The command that starts the storage part, NODE out of the address, and whether the storage part
 * knows where it was reached; false: not understood. */
static bool command_of(const char *address, const ses_offload_options *options, struct words *to,
                       const char **node, bool *knows) {
  struct words part = {.count = 0};
  const char *rsh = options->rsh;
  *node = address;
  bool understood = true;
  *knows = rsh && strstr(rsh, "ssh");
  if (strcmp(address, "here") == 0) {
    *node = "127.0.0.1";
    *knows = false;
    add_part(&part, *node, options);
  } else if (has_prefix(node, "command:")) {
    understood = rsh != NULL;
    if (rsh)
      add_rsh(to, rsh, *node);
    add_part(&part, *node, options);
  } else if (has_prefix(node, "slurm:")) {
    *knows = true;
    add_rsh(to, rsh ? rsh : "srun", *node);
    add_all(to, (const char *const[]){"--nodelist", *node, "--nodes=1", "--ntasks=1", "--quiet",
                                      "--unbuffered", "--job-name=ses-offload", NULL});
    if (getenv("SLURM_JOB_ID"))
      add(to, "--overlap"); /* beside the job's other steps */
    add_part(&part, *node, options);
  } else {
    has_prefix(node, "ssh:");
    *knows = true;
    add_rsh(to, rsh ? rsh : "ssh", *node);
    add_all(to, (const char *const[]){"-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-T", "-o",
                                      "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3", "--",
                                      *node, NULL});
    add_part(&part, *node, options);
    char *line = quoted(part.word);
    add(to, line ? line : "");
    to->short_of = to->short_of || !line;
    free(line);
    while (part.count > 0)
      free(part.word[--part.count]);
  }
  for (size_t i = 0; i < part.count; i++) {
    add(to, part.word[i]);
    free(part.word[i]);
  }
  return understood && **node && **node != '-' && !to->short_of && !part.short_of;
}

/* The address to listen on there, as a number; "-": the storage part finds it out. */
static void address_of(const char *node, const ses_offload_options *options, bool knows,
                       char *address, size_t room) {
  char *asked = options->address ? with_node(options->address, node) : NULL;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
  snprintf(address, room, "-");
  if ((asked || !knows) && getaddrinfo(asked ? asked : node, NULL, &hints, &list) == 0) {
    getnameinfo(list->ai_addr, list->ai_addrlen, address, (socklen_t)room, NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(list);
  }
  free(asked);
}

static int spawn(struct words *words, struct offload_part *part) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return errno;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); /* no signals of our terminal */
  int error =
      posix_spawnp(&part->child, words->word[0], &actions, &attributes, words->word, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  part->line = ends[0];
  if (error != 0) {
    close(ends[0]);
    part->line = -1;
    part->child = 0;
  }
  return error;
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* Reads lines until one is ours: a login shell may print others.  False: it ended, or too late. */
static bool read_greeting(int fd, double until, char *line, size_t room) {
  size_t size = 0;
  for (;;) {
    double left = until - now();
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    if (left <= 0 || (poll(&polled, 1, (int)(left * 1000) + 1) < 0 && errno != EINTR))
      return false;
    if (!polled.revents)
      continue;
    char byte;
    if (read(fd, &byte, 1) != 1)
      return false;
    if (byte != '\n') {
      if (size + 1 < room)
        line[size++] = byte;
      continue;
    }
    line[size] = 0;
    size = 0;
    if (strncmp(line, "ses-offload ", 12) == 0)
      return true;
  }
}

static int meet(struct offload_part *part, const char *node, const char *address, const char *key,
                double until, unsigned long *load, char *reason) {
  char line[OFFLOAD_LINE_MAX], directory[OFFLOAD_LINE_MAX / 2];
  if (!getcwd(directory, sizeof directory) || strchr(directory, '\n')) {
    snprintf(reason, OFFLOAD_REASON_MAX, "the name of the working directory is not usable");
    return SES_OFFLOAD_NOT_STARTED;
  }
  int size = snprintf(line, sizeof line, "%s%s %" PRIx64 " %u %s %s\n", OFFLOAD_GREETING, key,
                      offload_fingerprint(), geteuid(), address, directory);
  ssize_t sent = send(part->line, line, (size_t)size, MSG_NOSIGNAL);
  if (sent != size || !read_greeting(part->line, until, line, sizeof line)) {
    snprintf(reason, OFFLOAD_REASON_MAX, "%s: %s", node,
             now() < until ? "the command that starts the storage part ended"
                           : "the storage part did not answer in time");
    return SES_OFFLOAD_NOT_STARTED;
  }
  unsigned long whole = 0, hundredths = 0; /* as the storage part writes them */
  if (sscanf(line, OFFLOAD_GREETING "%127s %40s %lu.%2lu", part->endpoint, part->key, &whole,
             &hundredths) >= 2) {
    *load = 100 * whole + hundredths;
    return SES_OFFLOAD_OK;
  }
  const char *said = strncmp(line, OFFLOAD_REFUSED, strlen(OFFLOAD_REFUSED)) == 0
                         ? line + strlen(OFFLOAD_REFUSED)
                         : "it speaks another version of ses-offload";
  snprintf(reason, OFFLOAD_REASON_MAX, "%s: %.400s", node, said);
  return strcmp(said, OFFLOAD_OTHER) == 0 ? SES_OFFLOAD_OTHER_VERSION : SES_OFFLOAD_NOT_STARTED;
}

/* One of the nodes that may serve: what starts it there, and how loaded it says it is. */
struct candidate {
  char *address;
  const char *node;
  char listen[256];
  struct offload_part part;
  int status;
  unsigned long load;
};

static void start_at(struct candidate *candidate, const ses_offload_options *options,
                     char *reason) {
  struct words words = {.count = 0};
  bool knows;
  candidate->part = (struct offload_part){.line = -1};
  candidate->status = SES_OFFLOAD_INVALID;
  if (!command_of(candidate->address, options, &words, &candidate->node, &knows)) {
    snprintf(reason, OFFLOAD_REASON_MAX,
             "%s: not an address; say NODE, ssh:NODE, slurm:NODE, here, "
             "or command:NODE with a command (rsh)",
             candidate->address);
  } else {
    address_of(candidate->node, options, knows, candidate->listen, sizeof candidate->listen);
    int error = spawn(&words, &candidate->part);
    candidate->status = error == 0 ? SES_OFFLOAD_OK : SES_OFFLOAD_NOT_STARTED;
    if (error != 0)
      snprintf(reason, OFFLOAD_REASON_MAX, "%s: %s", words.word[0], strerror(error));
  }
  while (words.count > 0)
    free(words.word[--words.count]);
}

/* Starts all at once, and keeps the one whose node has least to do. */
static int least_loaded(struct candidate *all, size_t count, const ses_offload_options *options,
                        const char *own_key, struct offload_part *part, char *reason) {
  struct candidate *best = NULL;
  for (size_t i = 0; i < count; i++)
    start_at(&all[i], options, reason);
  double until = now() + (options->start_seconds ? options->start_seconds : START_SECONDS);
  for (size_t i = 0; i < count; i++) {
    struct candidate *candidate = &all[i];
    if (candidate->status == SES_OFFLOAD_OK)
      candidate->status = meet(&candidate->part, candidate->node, candidate->listen, own_key, until,
                               &candidate->load, reason);
    if (candidate->status == SES_OFFLOAD_OK && (!best || candidate->load < best->load))
      best = candidate;
  }
  for (size_t i = 0; i < count; i++)
    if (&all[i] != best)
      offload_end_part(&all[i].part);
  if (!best)
    return all[count - 1].status;
  *part = best->part;
  return SES_OFFLOAD_OK;
}

int offload_start_part(const char *addresses, const ses_offload_options *options,
                       const char *own_key, struct offload_part *part,
                       char reason[OFFLOAD_REASON_MAX]) {
  struct candidate all[SES_OFFLOAD_NODES_MAX] = {0};
  size_t count = 0;
  char *copy = strdup(addresses), *left = copy;
  *part = (struct offload_part){.line = -1};
  if (!copy)
    return SES_OFFLOAD_MEMORY;
  for (char *address; count < SES_OFFLOAD_NODES_MAX && (address = strsep(&left, ","));)
    all[count++].address = address;
  int status = SES_OFFLOAD_INVALID;
  if (left)
    snprintf(reason, OFFLOAD_REASON_MAX, "at most %u nodes can be named", SES_OFFLOAD_NODES_MAX);
  else
    status = least_loaded(all, count, options, own_key, part, reason);
  if (status == SES_OFFLOAD_OK)
    reason[0] = 0;
  free(copy);
  return status;
}

void offload_end_part(struct offload_part *part) {
  if (part->line >= 0)
    close(part->line);
  part->line = -1;
  for (int waited = 0; part->child > 0; waited++) {
    pid_t ended = waitpid(part->child, NULL, WNOHANG);
    if (ended != 0 && !(ended < 0 && errno == EINTR))
      part->child = 0;
    else if (waited == END_MS)
      kill(part->child, SIGKILL);
    else
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}
