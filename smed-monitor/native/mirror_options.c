#include "mirror_options.h"

#include "settle.h"
#include "system/command_line.h"

#include <string.h>

#define PROGRAM "smed-mirror"

static const char help[] =
    "Usage: smed-mirror --directory DIR --key-file FILE [OPTIONS] NAME=HOST:PORT...\n"
    "\n"
    "Keep copies of the tables of other nodes' smed-sampler on this node.\n"
    "\n"
    "DIR/NAME is the table of the smed-sampler that listens at HOST:PORT, its times\n"
    "moved to this node's clock; smed-monitor reads it as one of its own node. With\n"
    "--one-sided it is read from the other node's memory, where that offers it, else\n"
    "asked for over TCP. Asleep unless a reader asked within the last two seconds.\n"
    "\n"
    "Options:\n"
    "  --directory DIR     Where the tables are kept, best below /dev/shm. [required]\n"
    "  --key-file FILE     The key that the samplers have, too; mode 0600. [required]\n"
    "  --period-ms N       Time between two readings, 1 to 1000. [default: 4]\n"
    "  --one-sided         Read by libfabric where a sampler offers it: not encrypted\n"
    "  --core N            Stay on this core and poll there; the site keeps it free\n"
    "  --sleep             With --core: sleep between two readings\n"
    "  --always            Never sleep until somebody asks\n"
    "  --help              Print this and end\n"
    "  --version           Print the version and end\n"
    "\n"
    "Exit status: 0 ended by SIGTERM or SIGINT, 1 cannot run, 2 wrong usage.\n";

/* NAME=HOST:PORT, where NAME can name a file. */
static bool is_sampler(const char *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  size_t length = strspn(text, letters);

  return text[0] != '.' && text[0] != '-' && length > 0 && length <= 64 && text[length] == '=' &&
         strchr(text + length + 1, ':') != NULL;
}

int smed_mirror_options_read(int argc, char **argv, struct smed_mirror_options *options) {
  const struct ses_option known[] = {
      {.name = "directory", .text = &options->directory},
      {.name = "key-file", .text = &options->key_file},
      {.name = "period-ms", .number = &options->period_ms, .least = 1, .most = 1000},
      {.name = "core", .number = &options->core, .most = SMED_MOST_CORES},
      {.name = "one-sided", .flag = &options->one_sided},
      {.name = "sleep", .flag = &options->sleep},
      {.name = "always", .flag = &options->always},
      {0},
  };

  *options = (struct smed_mirror_options){.period_ms = 4, .core = -1};
  int ended = ses_command_line(PROGRAM, SMED_VERSION, help, known, argc, argv);
  options->first_sampler = optind;
  if (ended >= 0)
    return ended;
  if (options->directory == NULL)
    return ses_refuse(PROGRAM, "--directory DIR", "is missing");
  if (options->key_file == NULL)
    return ses_refuse(PROGRAM, "--key-file FILE", "is missing");
  if (options->sleep && options->core < 0)
    return ses_refuse(PROGRAM, "--sleep", "needs --core N");
  if (optind == argc || argc - optind > SMED_MIRROR_MOST)
    return ses_refuse(PROGRAM, "NAME=HOST:PORT:", "from 1 to 256 samplers are needed");
  for (int i = optind; i < argc; i++)
    if (!is_sampler(argv[i]))
      return ses_refuse(PROGRAM, argv[i], "is not NAME=HOST:PORT");
  return -1;
}
