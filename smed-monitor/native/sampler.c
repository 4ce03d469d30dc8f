/*
 * smed-sampler: counters of this node's block devices, read every few milliseconds, published to a
 * table in shared memory (table.h).
 *
 *   smed-sampler --table FILE [--period-ms N] [--fifo PRIORITY] [--core N] [--listen ...] DEVICE...
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
#include "table_file.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define AWAKE_NS 2000000000ull
#define ASLEEP_NS 500000000ull

static volatile sig_atomic_t ending;

static void end(int signal) {
  (void)signal;
  ending = 1;
}

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

static void run(struct smed_table *table, bool polling, bool always, struct smed_fabric *fabric) {
  uint64_t period_ns = table->period_ns, due = smed_now_ns();

  while (!ending) {
    uint64_t now = smed_now_ns(),
             asked = atomic_load_explicit(&table->asked_ns, memory_order_relaxed);
    bool awake = always || (asked != 0 && asked + AWAKE_NS > now);

    if (awake)
      smed_devices_sample(table->records);
    due += awake ? period_ns : ASLEEP_NS;
    if (due < now)
      due = now + period_ns; /* late turns are not made up for */
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
  const char *missing = smed_devices_open(argv + options.first_device, count);
  if (missing != NULL)
    return fail(missing);
  for (uint32_t i = 0; i < count; i++)
    snprintf(table->records[i].name, sizeof(table->records[i].name), "%.35s",
             argv[options.first_device + (int)i]);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, end);
  signal(SIGINT, end);
  if (!smed_stay("smed-sampler", options.core) ||
      (options.listen != NULL && (!smed_channel_key("smed-sampler", options.key_file) ||
                                  !smed_serve(table, count, options.listen, options.fabric,
                                              options.core >= 0 && !options.sleep, &fabric))) ||
      !go_first(options.fifo))
    return 1;
  run(table, polling, options.always, fabric);
  smed_serve_end(fabric, polling);
  return 0;
}
