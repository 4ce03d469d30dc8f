/*
 * plan_bench serve UNION STAGE STAGE_IN_UNION: be the agent's side of a plan
 * (ses/plan.h) for the calling user: one default entry for the device of
 * UNION, every ticket on the branch of STAGE.  Prints "ready", then fills up
 * tickets and empties reports every few milliseconds until its input ends.
 *
 * plan_bench decide UNION COUNT CPU: what the library does for a create
 * besides creating: find the entry, take a ticket, make and complete the
 * report; COUNT times, printing the nanoseconds of each.
 * plan_bench system-call UNION COUNT CPU: one getppid(), for comparison.
 *
 * Both sides find each other by SES_AGENT_SOCKET; nobody need listen there.
 * Does NOT do what an agent must: nothing here is checked or booked.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "plan.h"

#define WARM_UP 100
#define TURN_MS 15
#define LEASE_MS 600000u

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static dev_t device_of(const char *path) {
  struct stat stat_;
  if (stat(path, &stat_) != 0)
    fail(path);
  return stat_.st_dev;
}

static void fill_up(struct ses_plan *plan, uint64_t *next_id) {
  struct ses_plan_entry *entry = &plan->entries[0];
  uint64_t taken = __atomic_load_n(&entry->taken, __ATOMIC_ACQUIRE);
  uint64_t filled = entry->filled;
  for (; filled < taken + SES_PLAN_TICKETS; filled++)
    plan->tickets[0][filled % SES_PLAN_TICKETS] =
        (struct ses_plan_ticket){.placement_id = (*next_id)++,
                                 .expires_ms = (uint64_t)now() / 1000000 + LEASE_MS,
                                 .element_count = 1};
  __atomic_store_n(&entry->filled, filled, __ATOMIC_RELEASE);
}

static void empty_reports(struct ses_plan *plan) {
  for (unsigned i = 0; i < SES_PLAN_REPORTS; i++) {
    uint64_t state = __atomic_load_n(&plan->reports[i].state, __ATOMIC_ACQUIRE);
    if (state != 0 && state % 2 == 0)
      __atomic_store_n(&plan->reports[i].state, 0, __ATOMIC_RELEASE);
  }
}

static void publish(struct ses_plan *plan, uint64_t socket_hash, dev_t device, char **stages) {
  plan->head = (struct ses_plan_head){.magic = SES_PLAN_MAGIC,
                                      .version = SES_PLAN_VERSION,
                                      .head_size = sizeof plan->head,
                                      .size = sizeof *plan,
                                      .socket_hash = socket_hash,
                                      .uid = geteuid(),
                                      .state = SES_PLAN_ALIVE,
                                      .generation = 1};
  plan->elements[0] =
      (struct ses_plan_element){.backend = SES_BACKEND_MERGERFS, .element = "bench"};
  strncpy(plan->elements[0].stage, stages[0], SES_STAGE_MAX - 1);
  strncpy(plan->elements[0].stage_in_union, stages[1], SES_STAGE_MAX - 1);
  plan->entries[0] = (struct ses_plan_entry){.sequence = 2,
                                             .device_major = major(device),
                                             .device_minor = minor(device),
                                             .about_hash = ses_plan_hash("")};
}

static int serve(const char *socket, const char *union_, char **stages) {
  uint64_t socket_hash = ses_plan_hash(socket);
  int id = shmget(ses_plan_key(socket_hash, geteuid()), sizeof(struct ses_plan),
                  IPC_CREAT | IPC_EXCL | 0600);
  struct ses_plan *plan = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
  uint64_t next_id = (uint64_t)getpid() << 32 | 1;
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  if (plan == (void *)-1)
    fail("plan_bench: shared memory");
  publish(plan, socket_hash, device_of(union_), stages);
  for (int turn = 0; turn == 0 || poll(&input, 1, TURN_MS) == 0; turn = 1) {
    __atomic_store_n(&plan->head.heartbeat_ms, (uint64_t)now() / 1000000, __ATOMIC_RELEASE);
    empty_reports(plan);
    fill_up(plan, &next_id);
    if (turn == 0 && (puts("ready") == EOF || fflush(stdout) != 0))
      break;
  }
  shmctl(id, IPC_RMID, NULL);
  return 0;
}

static int decide(dev_t device) {
  static const char path[] = "/union/of/branches/file";
  struct ses_plan_spot spot;
  struct ses_plan_claim claim;
  struct ses_answer answer;
  if (!ses_plan_find(&spot, ses_plan_hash("plan_bench"), true, major(device), minor(device)) ||
      !ses_plan_has(&spot) || !ses_plan_take(&spot, &claim, &answer))
    return -1;
  ses_plan_begin(&claim, AT_FDCWD, path, sizeof path - 1, "plan_bench");
  struct ses_plan_end end = {.outcome = SES_OUTCOME_CREATED, .device = device, .inode = 1, .fd = 3};
  ses_plan_report(&claim, &end);
  return 0;
}

static int system_call(dev_t device) {
  (void)device;
  return syscall(SYS_getppid) > 0 ? 0 : -1;
}

static int measure(int (*call)(dev_t device), dev_t device, long count, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    fail("sched_setaffinity");
  long long *spent = calloc((size_t)count, sizeof *spent);
  struct timespec pause = {.tv_nsec = 40000000};
  for (long i = -WARM_UP; spent && i < count; i++) {
    if (i % 500 == 0) /* let tickets and slots be filled up */
      nanosleep(&pause, NULL);
    long long start = now();
    int failed = call(device);
    long long end = now();
    if (failed) {
      fprintf(stderr, "plan_bench: there was no ticket to take\n");
      return 1;
    }
    if (i >= 0)
      spent[i] = end - start;
  }
  for (long i = 0; i < count; i++)
    printf("%lld\n", spent[i]);
  return 0;
}

int main(int argc, char **argv) {
  const char *socket = getenv("SES_AGENT_SOCKET");
  if (socket && argc == 5 && strcmp(argv[1], "serve") == 0)
    return serve(socket, argv[2], argv + 3);
  if (argc == 5 && strcmp(argv[1], "decide") == 0)
    return measure(decide, device_of(argv[2]), strtol(argv[3], NULL, 10), atoi(argv[4]));
  if (argc == 5 && strcmp(argv[1], "system-call") == 0)
    return measure(system_call, device_of(argv[2]), strtol(argv[3], NULL, 10), atoi(argv[4]));
  fprintf(stderr, "usage: plan_bench serve UNION STAGE STAGE_IN_UNION | decide UNION COUNT CPU | "
                  "system-call UNION COUNT CPU\n");
  return 2;
}
