/* Times a choice by the decision core among elements in every state of load, in turn with one
 * system call.  The file needs a current write rate that some elements give and some do not. Use:
 * core_choice ROWS CALLS; writes a line of nanoseconds, choice and system call, for each call. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ses/core.h"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double part(void) { return rand() / (RAND_MAX + 1.0); }

static void fill(struct ses_core_element *elements, size_t count) {
  for (size_t i = 0; i < count; i++) {
    float busy = (float)part();
    elements[i] = (struct ses_core_element){
        .read_rate = 5e8,
        .write_rate = 4e8 * (1 + part()),
        .size = 1e13,
        .free = 5e12 * part() + 1e12,
        .server_rate = __builtin_nan(""),
        .last_placed = i * 7919 % count,
        .server = (uint32_t)(i / 4),
        .busy = busy,
        .busy_average = busy,
        .foreign = 2 * busy,
        .foreign_average = 2 * busy,
        .own = (float)(rand() % 3),
    };
  }
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  size_t count = strtoul(argv[1], NULL, 10);
  struct ses_core_element *elements = aligned_alloc(64, count * sizeof *elements);
  struct ses_core_verdict *verdicts = malloc(count * sizeof *verdicts);
  if (!elements || !verdicts)
    return 1;
  fill(elements, count);
  struct ses_core_policy policy;
  ses_core_defaults(&policy);
  struct ses_core_need need = {
      .bytes = -1,
      .room = -1,
      .count = 1,
      .requirements = {{.kind = SES_CORE_CURRENT_WRITE, .bound = 3e8, .weight = 1}},
  };
  struct ses_core_query query = {
      .need = &need, .policy = &policy, .elements = elements, .count = count};
  for (long left = strtol(argv[2], NULL, 10); left > 0; left--) {
    double started = now();
    int chosen = ses_core_choose(&query, verdicts);
    double decided = now();
    if (chosen < 0)
      return 1;
    syscall(SYS_getppid);
    printf("%.0f %.0f\n", decided - started, now() - decided);
  }
  return 0;
}
