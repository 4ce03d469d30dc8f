#include "options.h"
#include "settle.h"
#include "system/command_line.h"
#include "table.h"

#define PROGRAM "smed-sampler"

static const char help[] =
    "Usage: smed-sampler --table FILE [OPTIONS] DEVICE[=MOUNT]...\n"
    "\n"
    "Publish counters of this node's block devices every few milliseconds.\n"
    "\n"
    "They are in a table in shared memory that readers copy without a lock. A DEVICE\n"
    "is a name below /sys/class/block, such as sda, or the path of a stat file; with\n"
    "the free space of its file system where MOUNT says at which path that is\n"
    "mounted. Asleep unless a reader asked within the last two seconds.\n"
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
  const struct ses_option known[] = {
      {.name = "table", .text = &options->table},
      {.name = "period-ms", .number = &options->period_ms, .least = 1, .most = 1000},
      {.name = "fifo", .number = &options->fifo, .least = 1, .most = 99},
      {.name = "core", .number = &options->core, .most = SMED_MOST_CORES},
      {.name = "sleep", .flag = &options->sleep},
      {.name = "always", .flag = &options->always},
      {.name = "listen", .text = &options->listen},
      {.name = "key-file", .text = &options->key_file},
      {.name = "fabric", .text = &options->fabric},
      {0},
  };

  *options = (struct smed_options){.period_ms = 4, .core = -1};
  int ended = ses_command_line(PROGRAM, SMED_VERSION, help, known, argc, argv);
  options->first_device = optind;
  if (ended >= 0)
    return ended;
  if (options->table == NULL || optind == argc)
    return ses_refuse(PROGRAM, options->table == NULL ? "--table FILE" : "a DEVICE", "is missing");
  if (options->sleep && options->core < 0)
    return ses_refuse(PROGRAM, "--sleep", "needs --core N");
  if ((options->listen == NULL) != (options->key_file == NULL) ||
      (options->fabric != NULL && options->listen == NULL))
    return ses_refuse(PROGRAM, "--listen", "and --key-file need each other, and --fabric both");
  if (argc - optind > (int)SMED_TABLE_MOST) {
    fprintf(stderr, PROGRAM ": %d devices; a table has room for %u.\n", argc - optind,
            SMED_TABLE_MOST);
    return SES_WRONG_USE;
  }
  return -1;
}
