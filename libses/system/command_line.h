/*
 * The options of a program, each "--name" with a value or without, in one table; and --help and
 * --version.
 */
#ifndef SES_SYSTEM_COMMAND_LINE_H
#define SES_SYSTEM_COMMAND_LINE_H

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define SES_WRONG_USE 2
#define SES_OPTIONS_MAX 16

/* One of `text`, `number` and `flag` is where its value goes. */
struct ses_option {
  const char *name; /* NULL: the end of the table */
  const char **text;
  int *number; /* from LEAST to MOST */
  int least, most;
  bool *flag;
};

/* Say what is wrong about WHAT, and give the exit code for it. */
static inline int ses_refuse(const char *program, const char *what, const char *why) {
  fprintf(stderr, "%s: %s %s; try %s --help.\n", program, what, why, program);
  return SES_WRONG_USE;
}

static inline bool ses_option_number(const struct ses_option *option, const char *text) {
  char *end = NULL;
  errno = 0;
  long value = strtol(text, &end, 10);
  *option->number = (int)value;
  return errno == 0 && end != text && *end == '\0' && value >= option->least &&
         value <= option->most;
}

/* Read all options.  -1: go on at optind; else the exit code to end with at once. */
static inline int ses_command_line(const char *program, const char *version, const char *help,
                                   const struct ses_option *options, int argc, char **argv) {
  enum { HELP = 1000, VERSION };
  struct option known[SES_OPTIONS_MAX + 3] = {0};
  int count = 0;
  for (; count < SES_OPTIONS_MAX && options[count].name; count++)
    known[count] = (struct option){options[count].name, !options[count].flag, NULL, count};
  known[count] = (struct option){"help", no_argument, NULL, HELP};
  known[count + 1] = (struct option){"version", no_argument, NULL, VERSION};
  for (int at; (at = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    if (at == HELP)
      return fputs(help, stdout), 0;
    if (at == VERSION)
      return printf("%s %s\n", program, version), 0;
    if (at < 0 || at >= count) /* getopt_long() has printed why */
      return fprintf(stderr, "Try %s --help.\n", program), SES_WRONG_USE;
    if (options[at].flag)
      *options[at].flag = true;
    else if (options[at].text)
      *options[at].text = optarg;
    else if (!ses_option_number(&options[at], optarg)) {
      fprintf(stderr, "%s: --%s takes a whole number from %d to %d, not \"%s\"\n", program,
              options[at].name, options[at].least, options[at].most, optarg);
      return SES_WRONG_USE;
    }
  }
  return -1;
}

#endif /* SES_SYSTEM_COMMAND_LINE_H */
