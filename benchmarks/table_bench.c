/*
 * table_bench serve UNION BRANCH...: be the agent's side of a candidate table
 * (ses/table.h) and of the claims of the calling user (ses/claims.h), with
 * equal elements on these branches of UNION.  Prints "ready", then counts and
 * empties claims every few milliseconds until its input ends.
 *
 * table_bench decide UNION COUNT CPU: what the library does for a create
 * besides creating: find the system and the need, choose, claim, fill in and
 * complete the claim; COUNT times, printing the nanoseconds of each.
 * table_bench loads UNION COUNT CPU: read all rows of the table by ses_loads_read().
 * table_bench system-call UNION COUNT CPU: one getppid(), for comparison.
 *
 * Both sides find each other by SES_AGENT_SOCKET; nobody need listen there.
 * Does NOT do what an agent must: nothing here is checked or remembered.
 */
#ifndef _GNU_SOURCE // the library's sources beside it are compiled with it
#define _GNU_SOURCE
#endif

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

#include "choice/choose.h"
#include "ses/ses.h"

#define WARM_UP 100
#define TURN_MS 2
#define INSTANCE 4711u
#define RATE 1e9
#define BYTES 1e12

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

/* Files end as soon as they are counted: `own` stays as it is. */
static void count(struct ses_claims *claims) {
  for (unsigned row = 0; row < SES_TABLE_ELEMENTS; row++)
    __atomic_store_n(&claims->counted[0][row],
                     __atomic_load_n(&claims->claimed[0][row], __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
  for (unsigned i = 0; i < SES_CLAIMS_SLOTS; i++) {
    uint64_t state = __atomic_load_n(&claims->claims[i].state, __ATOMIC_ACQUIRE);
    if (state != 0 && state % 2 == 0)
      __atomic_store_n(&claims->claims[i].state, 0, __ATOMIC_RELEASE);
  }
}

static void fill_system(struct ses_table_system *system, char **branches, unsigned count_) {
  system->backend = SES_BACKEND_MERGERFS;
  system->count = count_;
  system->epoch = 1;
  ses_core_defaults(&system->policy);
  for (unsigned row = 0; row < count_; row++) {
    system->elements[row] = (struct ses_core_element){.read_rate = RATE,
                                                      .write_rate = RATE,
                                                      .size = BYTES,
                                                      .free = BYTES,
                                                      .server_rate = __builtin_nan(""),
                                                      .server = row};
    snprintf(system->places[row].element, SES_ELEMENT_MAX, "bench/b%u", row + 1);
    snprintf(system->places[row].branch, SES_TABLE_PATH_MAX, "%s", branches[row]);
  }
  system->sequence = 2;
}

static void publish(struct ses_table *table, uint64_t socket_hash, const char *union_,
                    int32_t segment) {
  dev_t device = device_of(union_);
  table->head = (struct ses_table_head){.segment = SES_TABLE_KIND,
                                        .socket_hash = socket_hash,
                                        .instance = INSTANCE,
                                        .state = SES_TABLE_ALIVE,
                                        .users = 1,
                                        .mounts = 1};
  table->users[0] =
      (struct ses_table_user){.uid = geteuid(), .segment = segment, .instance = INSTANCE};
  table->mounts[0] =
      (struct ses_table_mount){.device_major = major(device), .device_minor = minor(device)};
  snprintf(table->mounts[0].mount_point, SES_TABLE_PATH_MAX, "%s", union_);
}

static void open_claims(struct ses_claims *claims) {
  claims->head = (struct ses_claims_head){.segment = SES_CLAIMS_KIND,
                                          .instance = INSTANCE,
                                          .uid = geteuid(),
                                          .state = SES_TABLE_ALIVE,
                                          .generation = 1,
                                          .staged = {UINT64_MAX}};
  claims->needs[0] = (struct ses_claims_need){
      .sequence = 2,
      .digest = 1,
      .need = {
          .bytes = -1,
          .room = -1,
          .count = 1,
          .requirements = {{.kind = SES_CORE_CURRENT_WRITE, .bound = RATE / 10, .weight = 1}}}};
}

static void *make(key_t key, size_t size, int mode, int *id) {
  *id = shmget(key, size, IPC_CREAT | IPC_EXCL | mode);
  void *at = *id < 0 ? (void *)-1 : shmat(*id, NULL, 0);
  if (at == (void *)-1)
    fail("table_bench: shared memory");
  return at;
}

static int serve(const char *socket, const char *union_, char **branches, unsigned count_) {
  uint64_t socket_hash = ses_segment_hash(socket);
  int table_id, claims_id;
  struct ses_table *table = make(ses_segment_key(socket_hash, 0), sizeof *table, 0644, &table_id);
  struct ses_claims *claims = make(IPC_PRIVATE, sizeof *claims, 0600, &claims_id);
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  open_claims(claims);
  fill_system(&table->systems[0], branches, count_);
  publish(table, socket_hash, union_, claims_id);
  for (int turn = 0; turn == 0 || poll(&input, 1, TURN_MS) == 0; turn = 1) {
    __atomic_store_n(&table->head.heartbeat_ms, (uint64_t)now() / 1000000, __ATOMIC_RELEASE);
    count(claims);
    if (turn == 0 && (puts("ready") == EOF || fflush(stdout) != 0))
      break;
  }
  shmctl(table_id, IPC_RMID, NULL);
  shmctl(claims_id, IPC_RMID, NULL);
  return 0;
}

static int decide(dev_t device) {
  static const char path[] = "/union/of/branches/file";
  struct ses_candidates candidates;
  struct ses_choice choice;
  struct ses_answer answer;
  struct ses_stated stated = {.application = ses_segment_hash("table_bench"), .expected_bytes = -1};
  if (!ses_candidates_find(&candidates, stated.application, major(device), minor(device)) ||
      !ses_choose(&candidates, &stated, &choice) ||
      !ses_choice_answer(&candidates, &stated, &choice, &answer))
    return -1;
  ses_slot_describe(&choice.slot, AT_FDCWD, path, sizeof path - 1, "table_bench", 1);
  struct ses_slot_end end = {.outcome = SES_OUTCOME_CREATED, .device = device, .inode = 1, .fd = 3};
  ses_slot_complete(&choice.slot, &end);
  return 0;
}

static ses_loads *loads;

static int read_loads(dev_t device) {
  static ses_load rows[SES_TABLE_ELEMENTS];
  (void)device;
  return loads && ses_loads_read(loads, rows, SES_TABLE_ELEMENTS, NULL) > 0 ? 0 : -1;
}

static int system_call(dev_t device) {
  (void)device;
  return syscall(SYS_getppid) > 0 ? 0 : -1;
}

static int measure(int (*call)(dev_t device), dev_t device, long count_, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    fail("sched_setaffinity");
  long long *spent = calloc((size_t)count_, sizeof *spent);
  struct timespec pause = {.tv_nsec = 40000000};
  for (long i = -WARM_UP; spent && i < count_; i++) {
    if (i % 500 == 0) /* let slots be emptied */
      nanosleep(&pause, NULL);
    long long start = now();
    int failed = call(device);
    long long end = now();
    if (failed) {
      fprintf(stderr, "table_bench: nothing could be chosen\n");
      return 1;
    }
    if (i >= 0)
      spent[i] = end - start;
  }
  for (long i = 0; i < count_; i++)
    printf("%lld\n", spent[i]);
  return 0;
}

int main(int argc, char **argv) {
  const char *socket = getenv("SES_AGENT_SOCKET");
  if (socket && argc >= 4 && argc - 3 <= SES_TABLE_ELEMENTS && strcmp(argv[1], "serve") == 0)
    return serve(socket, argv[2], argv + 3, (unsigned)argc - 3);
  if (argc == 5 && strcmp(argv[1], "decide") == 0)
    return measure(decide, device_of(argv[2]), strtol(argv[3], NULL, 10), atoi(argv[4]));
  if (argc == 5 && strcmp(argv[1], "loads") == 0) {
    loads = ses_loads_open(argv[2]);
    return measure(read_loads, device_of(argv[2]), strtol(argv[3], NULL, 10), atoi(argv[4]));
  }
  if (argc == 5 && strcmp(argv[1], "system-call") == 0)
    return measure(system_call, device_of(argv[2]), strtol(argv[3], NULL, 10), atoi(argv[4]));
  fprintf(stderr, "usage: table_bench serve UNION BRANCH... | decide UNION COUNT CPU | "
                  "loads UNION COUNT CPU | system-call UNION COUNT CPU\n");
  return 2;
}
