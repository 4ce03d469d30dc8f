/*
 * checkpoint PROCESSES STEPS [NODE COMMAND]: processes that checkpoint to shared memory, fail by
 * chance, and go back together to the last step that all have a checkpoint of (the application of
 * section 4.3 of Vaidyanathan, Lai, Narravula and Panda, OSU-CISRC-8/07-TR53).
 *
 *     cc checkpoint.c $(pkg-config --cflags --libs ses-share) -o checkpoint && ./checkpoint 4 2000
 *
 * After each step a process puts its state (a version for each step, the last 32 are kept) and asks
 * for the recovery line: which step to go back to, if any process failed since.  The line is shared
 * once with the model STRICT (nobody asks while it is being changed) and once with TEMPORAL (a line
 * at most 50 ms old will do; one that is older is asked for under the lock, and renewed).  Prints,
 * for each probability of a failure in a step: milliseconds in all, milliseconds of these in which
 * a process synchronised (all but its own work), microseconds that a step takes to checkpoint and
 * ask (median), and how often all went back.  Ends with 1 if a state was not the one that the step
 * should have.
 *
 * With NODE (HOST:PORT of its ses-share-agent) the region lies there, and COMMAND, a line of sh in
 * which "$0" is the number of a process and "$@" this program, starts each on its own node:
 *
 *     checkpoint 4 2000 n1:8635 'exec ssh "n$0" "$@"'
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ses/share.h>

#define KEPT 32u
#define WORDS 128 /* of a state: 1 KiB */
#define AGE_SECONDS 0.05
#define MAX_PROCESSES 64
#define WORK_NS 20000

struct line {
  uint64_t number; /* one more with each failure */
  uint64_t step;   /* to go back to */
};

struct account {
  double median_us;
  double synchronised_ms;
  uint64_t reverts;
};

static unsigned processes;
static uint64_t steps;
static const char *program, *node, *command; /* the last two: NULL where all is on one node */

static void must(int status, const char *what) {
  if (status != 0) {
    fprintf(stderr, "checkpoint: %s: %s\n", what, strerror(status));
    _exit(1);
  }
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static ses_share_item *item_of(ses_share *share, const char *what, unsigned number,
                               const ses_share_kind *kind) {
  ses_share_item *item;
  char name[SES_SHARE_NAME_MAX];
  snprintf(name, sizeof name, "%s-%u", what, number);
  must(ses_share_have(share, name, kind, &item), name);
  return item;
}

static ses_share_item *state_of(ses_share *share, unsigned process) {
  return item_of(share, "state", process,
                 &(ses_share_kind){.bytes = WORDS * sizeof(uint64_t), .keep = KEPT});
}

/* A checkpoint: the state of a step, in which every word follows from process and step. */
static void fill(uint64_t *state, unsigned process, uint64_t step) {
  for (unsigned i = 0; i < WORDS; i++)
    state[i] = step * 1000003u + process * 257u + i;
}

/* The last step that all have a checkpoint of. */
static uint64_t common_step(ses_share_item **states) {
  uint64_t least = UINT64_MAX;
  for (unsigned i = 0; i < processes; i++) {
    uint64_t bytes[WORDS], version;
    size_t size;
    must(ses_share_version(states[i], &version, NULL), "version");
    int status = ses_share_copy(states[i], version, bytes, sizeof bytes, &size);
    uint64_t step = status == 0 ? (bytes[0] - i * 257u) / 1000003u : 0;
    if (step < least)
      least = step;
  }
  return least;
}

/* The line as its model gives it; one that is too old is renewed. */
static struct line ask(ses_share_item *shared) {
  struct line line = {0};
  int status = ses_share_get(shared, &line, sizeof line, NULL, NULL);
  if (status == ETIME) {
    uint64_t version;
    must(ses_share_lock(shared), "lock");
    must(ses_share_version(shared, &version, NULL), "version");
    must(ses_share_copy(shared, version, &line, sizeof line, NULL), "line");
    must(ses_share_put(shared, &line, sizeof line, NULL), "line");
    must(ses_share_unlock(shared), "unlock");
  } else {
    must(status, "line");
  }
  return line;
}

static void fail(ses_share_item *shared, ses_share_item **states) {
  struct line line;
  uint64_t version;
  must(ses_share_lock(shared), "lock");
  must(ses_share_version(shared, &version, NULL), "version");
  must(ses_share_copy(shared, version, &line, sizeof line, NULL), "line");
  line = (struct line){.number = line.number + 1, .step = common_step(states)};
  must(ses_share_put(shared, &line, sizeof line, NULL), "line");
  must(ses_share_unlock(shared), "unlock");
}

/* Nobody runs so far ahead that a step to go back to is not kept any more. */
static void wait_for_slowest(ses_share_item **states, uint64_t step) {
  while (step > common_step(states) + KEPT / 4)
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* Take up the checkpoint of STEP again, and put it once more, so that others see where this process
 * is.  Step 0 is the beginning. */
static void go_back(ses_share_item *item, unsigned process, uint64_t step, uint64_t *version) {
  uint64_t state[WORDS], wanted[WORDS];
  fill(wanted, process, step);
  memcpy(state, wanted, sizeof state);
  if (step > 0)
    must(ses_share_copy(item, *version, state, sizeof state, NULL), "checkpoint");
  if (memcmp(state, wanted, sizeof state) != 0)
    must(EINVAL, "the checkpoint is not that of the step");
  must(ses_share_put(item, state, sizeof state, version), "put");
}

static int by_size(const void *first, const void *second) {
  uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;
  return (a > b) - (a < b);
}

static void work(void) {
  for (uint64_t end = now_ns() + WORK_NS; now_ns() < end;)
    ;
}

static void run(ses_share *share, unsigned process, double failing, const ses_share_kind *kind) {
  ses_share_item *states[MAX_PROCESSES], *shared = item_of(share, "line", 0, kind);
  uint64_t *took = calloc(steps, sizeof *took), state[WORDS], known = 0;
  uint64_t versions[KEPT] = {0}; /* of the last checkpoint of each step that can be gone back to */
  struct account account = {0};
  uint64_t worked_ns = 0, started = now_ns();
  unsigned seed = 4711 + process;
  for (unsigned i = 0; i < processes; i++)
    states[i] = state_of(share, i);
  for (uint64_t step = 1; step <= steps; step++) {
    uint64_t works = now_ns();
    work();
    worked_ns += now_ns() - works;
    wait_for_slowest(states, step);
    fill(state, process, step);
    uint64_t begun = now_ns();
    must(ses_share_put(states[process], state, sizeof state, &versions[step % KEPT]), "put");
    struct line line = ask(shared);
    took[step - 1] = now_ns() - begun;
    if (line.number != known) {
      known = line.number;
      account.reverts++;
      if (line.step < step) {
        step = line.step;
        go_back(states[process], process, step, &versions[step % KEPT]);
      }
    } else if (rand_r(&seed) < failing * RAND_MAX) {
      fail(shared, states);
    }
  }
  account.synchronised_ms = (double)(now_ns() - started - worked_ns) / 1e6;
  qsort(took, steps, sizeof *took, by_size);
  account.median_us = (double)took[steps / 2] / 1000;
  ses_share_item *said =
      item_of(share, "account", process, &(ses_share_kind){.bytes = sizeof account});
  must(ses_share_put(said, &account, sizeof account, NULL), "account");
  _exit(0);
}

static int last_states_are_right(ses_share *share) {
  uint64_t state[WORDS], wanted[WORDS];
  for (unsigned i = 0; i < processes; i++) {
    fill(wanted, i, steps);
    if (ses_share_get(state_of(share, i), state, sizeof state, NULL, NULL) != 0 ||
        memcmp(state, wanted, sizeof state) != 0)
      return 0;
  }
  return 1;
}

/* A process of the run: this one, or a program that COMMAND starts on another node. */
static void begin(const char *name, unsigned process, double failing, const ses_share_kind *kind) {
  ses_share *share;
  char text[5][32];
  if (command) {
    snprintf(text[0], sizeof text[0], "%u", process);
    snprintf(text[1], sizeof text[1], "%u", processes);
    snprintf(text[2], sizeof text[2], "%lu", steps);
    snprintf(text[3], sizeof text[3], "%g", failing);
    snprintf(text[4], sizeof text[4], "%d", kind->model == SES_SHARE_STRICT);
    execl("/bin/sh", "sh", "-c", command, text[0], program, text[1], text[2], name, text[0],
          text[3], text[4], (char *)NULL);
    must(errno, "sh");
  }
  must(ses_share_open(name, &share), "open");
  run(share, process, failing, kind);
}

static int measure(const char *model, const ses_share_kind *kind, double failing) {
  char name[SES_SHARE_NAME_MAX];
  ses_share *share;
  struct line none = {0};
  snprintf(name, sizeof name, node ? "checkpoint-%d@%s" : "checkpoint-%d", getpid(), node);
  must(ses_share_create(name, &(ses_share_options){.bytes = 8u << 20}, &share), "create");
  must(ses_share_put(item_of(share, "line", 0, kind), &none, sizeof none, NULL), "line");
  for (unsigned i = 0; i < processes; i++)
    state_of(share, i);
  uint64_t begun = now_ns();
  for (unsigned i = 0; i < processes; i++)
    if (fork() == 0)
      begin(name, i, failing, kind);
  int status, ended = 1;
  for (unsigned i = 0; i < processes; i++)
    ended &= wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  double ms = (double)(now_ns() - begun) / 1e6;
  must(ses_share_remove(name), "remove");
  if (!ended || !last_states_are_right(share)) {
    fprintf(stderr, "checkpoint: a state is not that of its step\n");
    return 1;
  }
  struct account account, all = {0};
  for (unsigned i = 0; i < processes; i++) {
    ses_share_item *said;
    char of[SES_SHARE_NAME_MAX];
    snprintf(of, sizeof of, "account-%u", i);
    must(ses_share_find(share, of, &said), of);
    must(ses_share_get(said, &account, sizeof account, NULL, NULL), of);
    all.median_us += account.median_us / processes;
    all.synchronised_ms += account.synchronised_ms / processes;
    all.reverts += account.reverts;
  }
  printf("%-8s  %11.3f  %8.1f  %16.1f  %13.2f  %9.1f\n", model, failing, ms, all.synchronised_ms,
         all.median_us, (double)all.reverts / processes);
  ses_share_close(share);
  return 0;
}

int main(int argc, char **argv) {
  static const double probabilities[] = {0, 0.005, 0.01, 0.02, 0.05};
  bool known = argc == 3 || argc == 5 || argc == 7;
  processes = known ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
  steps = known ? strtoul(argv[2], NULL, 10) : 0;
  if (processes == 0 || processes > MAX_PROCESSES || steps == 0) {
    fprintf(stderr, "usage: checkpoint PROCESSES STEPS [NODE COMMAND] (at most %d processes)\n",
            MAX_PROCESSES);
    return 2;
  }
  program = argv[0];
  node = argc == 5 ? argv[3] : NULL;
  command = argc == 5 ? argv[4] : NULL;
  ses_share_kind strict = {.bytes = sizeof(struct line), .model = SES_SHARE_STRICT};
  ses_share_kind temporal = {
      .bytes = sizeof(struct line), .model = SES_SHARE_TEMPORAL, .age_seconds = AGE_SECONDS};
  if (argc == 7) /* begin() of another node: region, process, probability, strict */
    begin(argv[3], (unsigned)strtoul(argv[4], NULL, 10), strtod(argv[5], NULL),
          *argv[6] == '1' ? &strict : &temporal);
  printf("line      probability  total ms  synchronising ms  checkpoint us  went back\n");
  for (size_t i = 0; i < sizeof probabilities / sizeof probabilities[0]; i++)
    if (measure("strict", &strict, probabilities[i]) ||
        measure("temporal", &temporal, probabilities[i]))
      return 1;
  return 0;
}
