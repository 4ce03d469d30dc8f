/*
 * One-sided reads for the tests, without a sampler: a process shows memory, another of its node
 * writes records there as fast as it can, and the third reads them.
 *
 *   window-probe PROVIDER SECONDS [stopped]
 *
 * Reads for so long, and on until a record was whole.
 *
 * Prints: reads, torn records that were taken for whole, whole records, the number of different
 * values of the first, and whether a write into the window was carried out.  With "stopped", the
 * process that shows the memory is stopped meanwhile: what is read then, is read without it.
 *
 * Exit code 3: libfabric or the provider is not here; why is on standard error.
 */
#include "fabric.h"
#include "system/clock.h"
#include "table.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDS 24u
#define PATIENCE_MS 60000u
#define FEW 200u /* reads that fit into the queue of a process that is stopped */

static const volatile int never;

static void write_records(struct smed_table *table, uint64_t n) {
  for (uint32_t i = 0; i < RECORDS; i++)
    smed_table_write(&table->records[i],
                     &(struct smed_sample){n, n * 3, n * 5, n * 7, n * 11, n * 13, n * 17, n * 19,
                                           n * 23, n * 29, 0});
}

/* In a process of its own, with another that writes: one that reads one-sidedly meets both. */
static int show(const char *provider, int to) {
  struct smed_window window = {0};
  const char *why = "";
  size_t bytes = smed_table_bytes(RECORDS);
  struct smed_table *table =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  struct smed_fabric *fabric = smed_fabric_show(provider, "127.0.0.1", table, bytes, &window, &why);

  if (fabric == NULL)
    fprintf(stderr, "window-probe: %s\n", why);
  if (write(to, &window, sizeof(window)) != (ssize_t)sizeof(window) || fabric == NULL)
    return 3;
  pid_t shows = getpid();
  if (fork() == 0) {
    for (uint64_t n = 1; getppid() == shows; n++)
      write_records(table, n);
    return 0;
  }
  smed_fabric_serve(fabric, &never);
  return 0;
}

static bool read_once(struct smed_fabric *fabric) {
  uint64_t patience = ses_in_ms(PATIENCE_MS);

  while (ses_now_ns() < patience) {
    if (!smed_fabric_begin(fabric))
      return false;
    int done = smed_fabric_done(fabric);
    if (done != 0)
      return done > 0;
  }
  return false;
}

int main(int argc, char **argv) {
  struct smed_window window;
  const char *why = "";
  unsigned long reads = 0, torn = 0, whole = 0, values = 0;
  uint64_t last = 0;
  int ends[2];

  if (argc < 3 || pipe(ends) != 0)
    return 2;
  smed_fabric_prepare();
  pid_t shows = fork();
  if (shows == 0)
    return show(argv[1], ends[1]);
  if (read(ends[0], &window, sizeof(window)) != (ssize_t)sizeof(window) || !window.provider[0])
    return 3;
  struct smed_fabric *fabric = smed_fabric_look(&window, "127.0.0.1", &why);
  if (fabric != NULL && argc > 3 && read_once(fabric)) /* which connects */
    kill(shows, SIGSTOP);
  uint64_t end = ses_in_ms((uint64_t)(atof(argv[2]) * 1000)), patience = ses_in_ms(PATIENCE_MS);
  for (; fabric != NULL && (argc == 3 || (reads < FEW && values < 3)); reads++) {
    uint64_t now = ses_now_ns();
    if (now >= end && (whole > 0 || now >= patience)) /* the writer may not have begun */
      break;
    if (argc > 3) /* the writer's turn, longer and longer */
      ses_sleep_until(ses_in_ms(10 + reads));
    if (!read_once(fabric))
      return 1;
    const struct smed_table *table = smed_fabric_bytes(fabric);
    for (uint32_t i = 0; i < RECORDS; i++) {
      const struct smed_sample *sample = (const struct smed_sample *)table->records[i].words;
      if (!smed_record_is_whole(&table->records[i]))
        continue;
      whole++;
      values += i == 0 && sample->monotonic_ns != last;
      last = i == 0 ? sample->monotonic_ns : last;
      torn += sample->in_flight != sample->monotonic_ns * 17 ||
              sample->written_bytes != sample->monotonic_ns * 5;
    }
  }
  if (fabric == NULL) {
    fprintf(stderr, "window-probe: %s\n", why);
    return 3;
  }
  kill(shows, SIGCONT);
  printf("%lu %lu %lu %lu %d\n", reads, torn, whole, values, smed_fabric_can_write(fabric));
  kill(shows, SIGKILL);
  waitpid(shows, NULL, 0);
  smed_fabric_close(fabric);
  return 0;
}
