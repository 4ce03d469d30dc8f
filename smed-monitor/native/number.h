/* A number of a command line. */
#ifndef SMED_NUMBER_H
#define SMED_NUMBER_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SMED_MOST_CORES 1023 /* what a cpu_set_t holds */

/* The number in TEXT if it lies within bounds, else -1 and a message that names OPTION. */
static inline int smed_number(const char *program, const char *option, const char *text, int least,
                              int most) {
  char *end = NULL;

  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno == 0 && end != text && *end == '\0' && value >= least && value <= most)
    return (int)value;
  fprintf(stderr, "%s: --%s takes a whole number from %d to %d, not \"%s\"\n", program, option,
          least, most, text);
  return -1;
}

#endif
