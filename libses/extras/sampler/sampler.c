/*
 * smed-sampler: counters of this node's block devices, read every few milliseconds, published to a
 * table in shared memory (table.h).
 *
 * Asleep by default: it samples while a reader has asked within the last two seconds (asked_ns),
 * else looks twice a second whether one has.  On a core of its own it polls while it is awake, and
 * serves one-sided reads of providers that need it.  Other nodes get the table by serve.h.
 *
 * Keeps the files of counters open (devices.h); no allocation and no output after the start, but
 * for connections. Ends with SIGTERM or SIGINT.  Exit codes: 0 ended, 1 cannot run, 2 wrong usage.
 */
#include "channel.h"
#include "devices.h"
#include "periodic.h"
#include "serve.h"
#include "space.h"
#include "system/clock.h"
#include "system/command_line.h"
#include "system/core.h"
#include "table_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PROGRAM "smed-sampler"
#define ASLEEP_NS 500000000ull

static struct {
  const char *table;    /* file of the table */
  int period_ms;        /* time between samples, 1 to 1000 */
  int fifo;             /* SCHED_FIFO priority, 1 to 99; 0: as started */
  int core;             /* to stay on and poll; -1: any, and sleep */
  bool sleep;           /* on that core, too */
  bool always;          /* sample without a reader, too */
  const char *listen;   /* HOST:PORT for other nodes; NULL: none */
  const char *key_file; /* with it */
  const char *fabric;   /* provider of libfabric, with it; NULL: none */
} options = {.period_ms = 4, .core = -1};

static const char help[] =
    "Usage: smed-sampler --table FILE [OPTIONS] DEVICE[=MOUNT]...\n"
    "\n"
    "Publish counters of this node's block devices every few milliseconds.\n"
    "\n"
    "They are in a table in shared memory that readers copy without a lock. A DEVICE\n"
    "is a name below /sys/class/block, such as sda, or the path of a stat file; with\n"
    "the free space of its file system where MOUNT says at which path that is\n"
    "mounted. Asleep unless a reader asked within the last two seconds.\n"
    "\n"
    "Options:\n"
    "  --table FILE        File of the table, best below /dev/shm. [required]\n"
    "  --period-ms N       Time between samples, 1 to 1000. [default: 4]\n"
    "  --fifo PRIORITY     Run as SCHED_FIFO, 1 to 99; needs CAP_SYS_NICE\n"
    "  --core N            Stay on this core and poll there; the site keeps it free\n"
    "  --sleep             With --core: sleep between two samples\n"
    "  --always            Never sleep\n"
    "  --listen HOST:PORT  Give the table to smed-mirror of other nodes, encrypted\n"
    "  --key-file FILE     With it: the key that the mirrors have, too; mode 0600\n"
    "  --fabric PROVIDER   With it: let mirrors read the table from memory by this\n"
    "                      provider of libfabric (verbs, tcp); that is not encrypted\n"
    "  --help              Print this and end\n"
    "  --version           Print the version and end\n"
    "\n"
    "Exit status: 0 ended by SIGTERM or SIGINT, 1 cannot run, 2 wrong usage.\n";

/* -1: go on; else the exit code to end with at once. */
static int read_options(int argc, char **argv) {
  const struct ses_option known[] = {
      {.name = "table", .text = &options.table},
      {.name = "period-ms", .number = &options.period_ms, .least = 1, .most = 1000},
      {.name = "fifo", .number = &options.fifo, .least = 1, .most = 99},
      {.name = "core", .number = &options.core, .most = SES_CORE_MAX},
      {.name = "sleep", .flag = &options.sleep},
      {.name = "always", .flag = &options.always},
      {.name = "listen", .text = &options.listen},
      {.name = "key-file", .text = &options.key_file},
      {.name = "fabric", .text = &options.fabric},
      {0},
  };

  int ended = ses_command_line(PROGRAM, SMED_VERSION, help, known, argc, argv);
  if (ended >= 0)
    return ended;
  if (options.table == NULL || optind == argc)
    return ses_refuse(PROGRAM, options.table == NULL ? "--table FILE" : "a DEVICE", "is missing");
  if (options.sleep && options.core < 0)
    return ses_refuse(PROGRAM, "--sleep", "needs --core N");
  if ((options.listen == NULL) != (options.key_file == NULL) ||
      (options.fabric != NULL && options.listen == NULL))
    return ses_refuse(PROGRAM, "--listen", "and --key-file need each other, and --fabric both");
  if (argc - optind > (int)SMED_TABLE_MAX) {
    fprintf(stderr, PROGRAM ": %d devices; a table has room for %u.\n", argc - optind,
            SMED_TABLE_MAX);
    return SES_WRONG_USE;
  }
  return -1;
}

static int fail(const char *what) {
  fprintf(stderr, PROGRAM ": %s: %s\n", what, strerror(errno));
  return 1;
}

static bool go_first(int priority) {
  if (priority <= 0)
    return true;
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
    return fail("--fifo, locking memory"), false;
  return ses_go_first(PROGRAM, priority);
}

/* Split each DEVICE=MOUNT, and say to the table what is watched. */
static bool open_devices(char **devices, struct smed_table *table) {
  for (uint32_t i = 0; i < table->count; i++) {
    struct smed_record *record = &table->records[i];
    char *mount = strstr(devices[i], "=/"), name[sizeof(record->name)];

    if (mount != NULL) {
      *mount = '\0';
      smed_space_at(i, mount + 1);
    }
    snprintf(name, sizeof(name), "%.35s", devices[i]);
    if (strncmp(record->name, name, sizeof(name)) != 0)
      memset(record, 0, sizeof(*record)); /* a sampler before left it, of another device */
    strcpy(record->name, name);
  }
  const char *missing = smed_devices_open(devices, table->count);
  return missing == NULL || (fail(missing), false);
}

static void run(struct smed_table *table, bool polling, bool always, struct smed_fabric *fabric) {
  uint64_t period_ns = table->period_ns, due = ses_now_ns();

  while (!smed_ending) {
    bool awake = always || smed_table_is_asked(table, ses_now_ns());

    if (awake)
      smed_devices_sample(table->records);
    due = smed_next_due(due, awake ? period_ns : ASLEEP_NS);
    smed_wait_until(due, polling && awake, fabric);
  }
}

int main(int argc, char **argv) {
  struct smed_fabric *fabric = NULL;

  int ended = read_options(argc, argv);
  if (ended >= 0)
    return ended;
  bool polling = options.core >= 0 && !options.sleep;
  uint32_t count = (uint32_t)(argc - optind);
  uint64_t period_ns = (uint64_t)options.period_ms * 1000000ull;
  struct smed_table *table = smed_table_make(options.table, count, period_ns, SMED_VIA_HERE);
  if (table == NULL)
    return fail(options.table);
  if (!open_devices(argv + optind, table))
    return 1;
  smed_end_by_signal();
  if (!ses_stay_on_core(PROGRAM, options.core) ||
      (options.listen != NULL &&
       (!smed_channel_key(PROGRAM, options.key_file) ||
        !smed_serve(table, count, options.listen, options.fabric, polling, &fabric))) ||
      !smed_space_start(count) || !go_first(options.fifo))
    return 1;
  run(table, polling, options.always, fabric);
  smed_serve_end(fabric, polling);
  return 0;
}
