// What a target promises of what was understood.
#ifndef SES_FUZZ_MUST_H
#define SES_FUZZ_MUST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(holds)                                                                                \
  do {                                                                                             \
    if (!(holds)) {                                                                                \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #holds);                          \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

#ifdef __cplusplus
extern "C"
#endif
    int
    LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif // SES_FUZZ_MUST_H
