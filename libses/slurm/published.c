#include "published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "settings/require.h"

#define NODES_SHOWN 200 /* characters of a list of nodes in a message */

struct offer {
  char element[256], nodes[NODES_SHOWN + 1];
  double write, read, free; /* NOT_KNOWN, where that is so */
};

static const double NOT_KNOWN = -1;

/* "812.5", or "-".  False: neither. */
static bool read_number(const char *text, double *number) {
  int length = 0;
  *number = NOT_KNOWN;
  return strcmp(text, "-") == 0 ||
         (sscanf(text, "%lf%n", number, &length) == 1 && text[length] == '\0' && *number >= 0);
}

static bool read_offer(const char *line, struct offer *offer) {
  char write[32], read[32], free[32];
  return sscanf(line, "%255s %31s %31s %31s %200s", offer->element, write, read, free,
                offer->nodes) == 5 &&
         read_number(write, &offer->write) && read_number(read, &offer->read) &&
         read_number(free, &offer->free);
}

/* How far OFFER falls short of what is hard, in squares; 0: not at all, as far as it is known. */
static double shortfall(const struct offer *offer, const struct ses_wire_requirement *stated,
                        int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) {
    const struct ses_wire_requirement *requirement = &stated[i];
    double there = requirement->kind == SES_KIND_CURRENT_WRITE_RATE  ? offer->write
                   : requirement->kind == SES_KIND_CURRENT_READ_RATE ? offer->read
                   : requirement->kind == SES_KIND_FREE_CAPACITY     ? offer->free
                                                                     : NOT_KNOWN;
    if (requirement->hard && there >= 0 && there < requirement->minimum) {
      double missing = 1 - there / requirement->minimum;
      sum += missing * missing;
    }
  }
  return sum;
}

/* The offer that falls short least, and by how much; -1: the file has none. */
static double nearest(FILE *file, const struct ses_wire_requirement *stated, int count,
                      struct offer *best) {
  char *line = NULL;
  size_t size = 0;
  long long written = 0;
  double least = -1;
  struct offer offer;
  if (fscanf(file, "ses-offers 2 %lld\n", &written) != 1 ||
      time(NULL) - written > SES_PUBLISHED_SECONDS)
    return -1;
  while (getline(&line, &size, file) > 0) {
    if (!read_offer(line, &offer)) {
      least = -1;
      break;
    }
    double short_by = shortfall(&offer, stated, count);
    if (least < 0 || short_by < least) {
      least = short_by;
      *best = offer;
    }
  }
  free(line);
  return least;
}

static const char *amount(double value, char text[32]) {
  if (value < 0)
    return "an unknown number of";
  snprintf(text, 32, value < 10 ? "%.2f" : "%.0f", value);
  return text;
}

bool ses_published_offer_exists(const char *path, const char *text, char *why, size_t size) {
  struct ses_wire_requirement stated[SES_REQUIRE_KINDS];
  char write[32], read[32], free[32];
  struct offer best;
  const char *wrong = NULL;
  int count = ses_require_parse(text, stated, &wrong);
  FILE *file = count > 0 ? fopen(path, "re") : NULL;
  if (!file)
    return true;
  double least = nearest(file, stated, count, &best);
  fclose(file);
  if (least <= 0)
    return true;
  snprintf(
      why, size,
      "can be met by no node now; the nearest is %s from %s, where a stream would write %s and "
      "read %s MB/s, and %s GB are free (see ses nodes rank)",
      best.element, best.nodes, amount(best.write, write), amount(best.read, read),
      amount(best.free, free));
  return false;
}
