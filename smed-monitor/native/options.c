#include "options.h"
#include "number.h"
#include "table.h"

#include <getopt.h>
#include <stdio.h>

static const char help[] =
    "Usage: smed-sampler --table FILE [OPTIONS] DEVICE...\n"
    "\n"
    "Publish counters of this node's block devices every few milliseconds.\n"
    "\n"
    "They are in a table in shared memory that readers copy without a lock. A DEVICE\n"
    "is a name below /sys/class/block, such as sda, or the path of a stat file.\n"
    "Asleep unless a reader asked within the last two seconds.\n"
    "\n"
    "Options:\n"
    "  --table FILE        File of the table, best below /dev/shm. [required]\n"
    "  --period-ms N       Time between samples, 1 to 1000. [default: 4]\n"
    "  --fifo PRIORITY     Run as SCHED_FIFO, 1 to 99; needs CAP_SYS_NICE\n"
    "  --core N            Stay on this core and poll there; the site keeps it free\n"
    "  --sleep             With --core: sleep between two samples\n"
    "  --always            Never sleep\n"
    "  --listen HOST:PORT  Give the table to smed-mirror of other nodes, encrypted\n"
    "  --key-file FILE     With it: the key that the mirrors have, too; mode 0600\n"
    "  --fabric PROVIDER   With it: let mirrors read the table from memory by this\n"
    "                      provider of libfabric (verbs, tcp); that is not encrypted\n"
    "  --help              Print this and end\n"
    "  --version           Print the version and end\n"
    "\n"
    "Exit status: 0 ended by SIGTERM or SIGINT, 1 cannot run, 2 wrong usage.\n";

int smed_options_read(int argc, char **argv, struct smed_options *options) {
  static const struct option known[] = {
      {"table", required_argument, NULL, 't'},    {"period-ms", required_argument, NULL, 'p'},
      {"fifo", required_argument, NULL, 'f'},     {"core", required_argument, NULL, 'c'},
      {"sleep", no_argument, NULL, 's'},          {"listen", required_argument, NULL, 'l'},
      {"key-file", required_argument, NULL, 'k'}, {"fabric", required_argument, NULL, 'r'},
      {"always", no_argument, NULL, 'a'},         {"help", no_argument, NULL, 'h'},
      {"version", no_argument, NULL, 'v'},        {NULL, 0, NULL, 0},
  };
  int option, index = 0;

  *options = (struct smed_options){.period_ms = 4, .core = -1};
  while ((option = getopt_long(argc, argv, "", known, &index)) != -1) {
    int *target = NULL, least = 0, most = 0;

    switch (option) {
    case 't':
      options->table = optarg;
      continue;
    case 'a':
      options->always = true;
      continue;
    case 's':
      options->sleep = true;
      continue;
    case 'l':
      options->listen = optarg;
      continue;
    case 'k':
      options->key_file = optarg;
      continue;
    case 'r':
      options->fabric = optarg;
      continue;
    case 'h':
      fputs(help, stdout);
      return 0;
    case 'v':
      puts("smed-sampler " SMED_VERSION);
      return 0;
    case 'p':
      target = &options->period_ms, least = 1, most = 1000;
      break;
    case 'f':
      target = &options->fifo, least = 1, most = 99;
      break;
    case 'c':
      target = &options->core, least = 0, most = SMED_MOST_CORES;
      break;
    default:
      fputs("Try smed-sampler --help.\n", stderr);
      return 2;
    }
    *target = smed_number("smed-sampler", known[index].name, optarg, least, most);
    if (*target < 0)
      return 2;
  }
  options->first_device = optind;
  if (options->table == NULL || optind == argc) {
    fprintf(stderr, "smed-sampler: %s is missing; try smed-sampler --help.\n",
            options->table == NULL ? "--table FILE" : "a DEVICE");
    return 2;
  }
  if (options->sleep && options->core < 0) {
    fputs("smed-sampler: --sleep needs --core N.\n", stderr);
    return 2;
  }
  if ((options->listen == NULL) != (options->key_file == NULL) ||
      (options->fabric != NULL && options->listen == NULL)) {
    fputs("smed-sampler: --listen and --key-file need each other, and --fabric both.\n", stderr);
    return 2;
  }
  if (argc - optind > (int)SMED_TABLE_MOST) {
    fprintf(stderr, "smed-sampler: %d devices; a table has room for %u.\n", argc - optind,
            SMED_TABLE_MOST);
    return 2;
  }
  return -1;
}
