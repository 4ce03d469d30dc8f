#include "mirror_options.h"

#include "number.h"

#include <getopt.h>
#include <string.h>

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

static int wrong(const char *what, const char *which) {
  fprintf(stderr, "smed-mirror: %s%s; try smed-mirror --help.\n", which, what);
  return 2;
}

/* NAME=HOST:PORT, where NAME can name a file. */
static bool is_sampler(const char *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  size_t length = strspn(text, letters);

  return text[0] != '.' && text[0] != '-' && length > 0 && length <= 64 && text[length] == '=' &&
         strchr(text + length + 1, ':') != NULL;
}

int smed_mirror_options_read(int argc, char **argv, struct smed_mirror_options *options) {
  static const struct option known[] = {
      {"directory", required_argument, NULL, 'd'}, {"key-file", required_argument, NULL, 'k'},
      {"period-ms", required_argument, NULL, 'p'}, {"one-sided", no_argument, NULL, 'o'},
      {"core", required_argument, NULL, 'c'},      {"sleep", no_argument, NULL, 's'},
      {"always", no_argument, NULL, 'a'},          {"help", no_argument, NULL, 'h'},
      {"version", no_argument, NULL, 'v'},         {NULL, 0, NULL, 0},
  };
  int option;

  *options = (struct smed_mirror_options){.period_ms = 4, .core = -1};
  while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
    switch (option) {
    case 'd':
      options->directory = optarg;
      break;
    case 'k':
      options->key_file = optarg;
      break;
    case 'p':
      options->period_ms = smed_number("smed-mirror", "period-ms", optarg, 1, 1000);
      break;
    case 'c':
      options->core = smed_number("smed-mirror", "core", optarg, 0, SMED_MOST_CORES);
      break;
    case 'o':
      options->one_sided = true;
      break;
    case 's':
      options->sleep = true;
      break;
    case 'a':
      options->always = true;
      break;
    case 'h':
      fputs(help, stdout);
      return 0;
    case 'v':
      puts("smed-mirror " SMED_VERSION);
      return 0;
    default:
      return wrong("", "wrong option");
    }
    if (options->period_ms < 0 || (option == 'c' && options->core < 0))
      return 2;
  }
  options->first_sampler = optind;
  if (options->directory == NULL)
    return wrong(" is missing", "--directory DIR");
  if (options->key_file == NULL)
    return wrong(" is missing", "--key-file FILE");
  if (options->sleep && options->core < 0)
    return wrong(" needs --core", "--sleep");
  if (optind == argc || argc - optind > SMED_MIRROR_MOST)
    return wrong(" from 1 to 256 samplers are needed", "NAME=HOST:PORT:");
  for (int i = optind; i < argc; i++)
    if (!is_sampler(argv[i]))
      return wrong(" is not NAME=HOST:PORT", argv[i]);
  return -1;
}
