/* What the command line of smed-sampler says.  Reads no file and starts nothing. */
#ifndef SMED_OPTIONS_H
#define SMED_OPTIONS_H

#include <stdbool.h>

struct smed_options {
  const char *table;    /* file of the table */
  int period_ms;        /* time between samples, 1 to 1000 */
  int fifo;             /* SCHED_FIFO priority, 1 to 99; 0: as started */
  int core;             /* to stay on and poll; -1: any, and sleep */
  bool sleep;           /* on that core, too */
  bool always;          /* sample without a reader, too */
  const char *listen;   /* HOST:PORT for other nodes; NULL: none */
  const char *key_file; /* with it */
  const char *fabric;   /* provider of libfabric, with it; NULL: none */
  int first_device;     /* index in argv; the devices go to its end */
};

/* Fill in OPTIONS.  -1: go on; else the exit code to end with at once (after --help, --version, or
 * what is wrong was printed). */
int smed_options_read(int argc, char **argv, struct smed_options *options);

#endif
