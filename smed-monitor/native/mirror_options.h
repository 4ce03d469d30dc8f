/* What the command line of smed-mirror says.  Reads no file and starts nothing. */
#ifndef SMED_MIRROR_OPTIONS_H
#define SMED_MIRROR_OPTIONS_H

#include <stdbool.h>

#define SMED_MIRROR_MOST 256 /* samplers */

struct smed_mirror_options {
  const char *directory; /* where the tables are kept */
  const char *key_file;
  int period_ms;
  int core; /* to stay on and poll; -1: any, and sleep */
  bool one_sided;
  bool sleep; /* on that core, too */
  bool always;
  int first_sampler; /* index in argv; the samplers, NAME=HOST:PORT, go to its end */
};

/* Fill in OPTIONS.  -1: go on; else the exit code to end with at once. */
int smed_mirror_options_read(int argc, char **argv, struct smed_mirror_options *options);

#endif
