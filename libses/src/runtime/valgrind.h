/*
 * Is this process simulated by valgrind?  By a sequence of instructions that
 * changes nothing on a processor and that valgrind answers (its "client
 * request" 0x1001, as in <valgrind/valgrind.h>).
 *
 * Does NOT know other simulators, nor other processors than x86-64: there the
 * answer is no.
 */
#ifndef SES_VALGRIND_H
#define SES_VALGRIND_H

#include <stdbool.h>

static inline bool ses_is_under_valgrind(void) {
#if defined(__x86_64__)
  volatile unsigned long request[6] = {0x1001, 0, 0, 0, 0, 0};
  volatile unsigned long answer = 0;
  __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                   "xchgq %%rbx, %%rbx"
                   : "=d"(answer)
                   : "a"(&request[0]), "0"(answer)
                   : "cc", "memory");
  return answer != 0;
#else
  return false;
#endif
}

#endif /* SES_VALGRIND_H */
