/*
 * smed-sampler: counters of this node's block devices, read every few milliseconds, published to a
 * table in shared memory (table.h).
 *
 *   smed-sampler --table FILE [--period-ms N] [--fifo PRIORITY] [--core N] [--listen ...]
 *                DEVICE[=MOUNT]...
 *
 * Asleep by default: it samples while a reader has asked within the last two seconds (asked_ns),
 * else looks twice a second whether one has.  --always samples all the time.  --fifo runs it as
 * SCHED_FIFO (needs CAP_SYS_NICE).  --core binds it to one core, which the site keeps free of other
 * work: while it is awake it polls there, and serves one-sided reads of providers that need it.
 * --listen gives the table to other nodes (serve.h).
 *
 * Keeps the files of counters open (devices.h); no allocation and no output after the start, but
 * for connections. Ends with SIGTERM or SIGINT.  Exit codes: 0 ended, 1 cannot run, 2 wrong usage.
 */
#define _GNU_SOURCE
#include "channel.h"
#include "devices.h"
#include "options.h"
#include "serve.h"
#include "settle.h"
#include "space.h"
#include "table_file.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define ASLEEP_NS 500000000ull

static int fail(const char *what) {
  fprintf(stderr, "smed-sampler: %s: %s\n", what, strerror(errno));
  return 1;
}

static bool go_first(int priority) {
  if (priority <= 0)
    return true;
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
    return fail("--fifo, locking memory"), false;
  if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = priority}) != 0)
    return fail("--fifo"), false;
  return true;
}

/* Split each DEVICE=MOUNT, and say to the table what is watched. */
static bool open_devices(char **devices, struct smed_table *table) {
  for (uint32_t i = 0; i < table->count; i++) {
    struct smed_record *record = &table->records[i];
    char *mount = strstr(devices[i], "=/");

    if (mount != NULL) {
      *mount = '\0';
      smed_space_at(i, mount + 1);
    }
    snprintf(record->name, sizeof(record->name), "%.35s", devices[i]);
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
    due = smed_next_turn(due, awake ? period_ns : ASLEEP_NS);
    smed_wait_until(due, polling && awake, fabric);
  }
}

int main(int argc, char **argv) {
  struct smed_options options;
  struct smed_fabric *fabric = NULL;

  int ended = smed_options_read(argc, argv, &options);
  if (ended >= 0)
    return ended;
  bool polling = options.core >= 0 && !options.sleep;
  uint32_t count = (uint32_t)(argc - options.first_device);
  uint64_t period_ns = (uint64_t)options.period_ms * 1000000ull;
  struct smed_table *table = smed_table_make(options.table, count, period_ns, SMED_VIA_HERE);
  if (table == NULL)
    return fail(options.table);
  if (!open_devices(argv + options.first_device, table))
    return 1;
  smed_end_by_signal();
  if (!smed_stay("smed-sampler", options.core) ||
      (options.listen != NULL &&
       (!smed_channel_key("smed-sampler", options.key_file) ||
        !smed_serve(table, count, options.listen, options.fabric, polling, &fabric))) ||
      !smed_space_start(count) || !go_first(options.fifo))
    return 1;
  run(table, polling, options.always, fabric);
  smed_serve_end(fabric, polling);
  return 0;
}
