#include "periodic.h"

#include "system/clock.h"
#include "system/pause.h"

#define PAUSES 16 /* a few microseconds at most */

uint64_t smed_next_due(uint64_t due_ns, uint64_t period_ns) {
  uint64_t now = ses_now_ns();

  return due_ns + period_ns < now ? now + period_ns : due_ns + period_ns;
}

volatile sig_atomic_t smed_ending;

static void end(int signal) {
  (void)signal;
  smed_ending = 1;
}

void smed_end_by_signal(void) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, end);
  signal(SIGINT, end);
}

void smed_wait_until(uint64_t then_ns, bool polling, struct smed_fabric *fabric) {
  if (!polling) {
    ses_sleep_until(then_ns);
    return;
  }
  while (ses_now_ns() < then_ns) {
    if (fabric != NULL)
      smed_fabric_progress(fabric);
    for (int i = 0; i < PAUSES; i++)
      ses_pause();
  }
}
