/* Leaves the core's other thread, and power, to other work briefly while this thread polls. */
#ifndef SES_SYSTEM_PAUSE_H
#define SES_SYSTEM_PAUSE_H

static inline void ses_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

#endif /* SES_SYSTEM_PAUSE_H */
