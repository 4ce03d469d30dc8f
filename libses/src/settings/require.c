#include "settings/require.h"

#include <stddef.h>
#include <string.h>

#define MAX_DIGITS 19 /* of SES_BOUND_MAX; more than a double distinguishes */

static const struct {
  const char *name;
  enum ses_kind kind;
} kinds[] = {
    /* Every name in ontology/kinds.ttl; of two that begin alike the longer one is first. */
    {"average-read-rate", SES_KIND_AVERAGE_READ_RATE},
    {"average-read", SES_KIND_AVERAGE_READ_RATE},
    {"setAverageReadTransferRate", SES_KIND_AVERAGE_READ_RATE},
    {"average-write-rate", SES_KIND_AVERAGE_WRITE_RATE},
    {"average-write", SES_KIND_AVERAGE_WRITE_RATE},
    {"setAverageWriteTransferRate", SES_KIND_AVERAGE_WRITE_RATE},
    {"free-capacity", SES_KIND_FREE_CAPACITY},
    {"free", SES_KIND_FREE_CAPACITY},
    {"setCapacity", SES_KIND_FREE_CAPACITY},
    {"current-read-rate", SES_KIND_CURRENT_READ_RATE},
    {"read", SES_KIND_CURRENT_READ_RATE},
    {"setCurrentReadTransferRate", SES_KIND_CURRENT_READ_RATE},
    {"current-write-rate", SES_KIND_CURRENT_WRITE_RATE},
    {"write", SES_KIND_CURRENT_WRITE_RATE},
    {"setCurrentWriteTransferRate", SES_KIND_CURRENT_WRITE_RATE},
};

static const struct {
  const char *name;
  double bytes;
} units[] = {
    {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},    {"PB", 1e15},    {"B", 1},
    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50},
};

static bool is_between(char c) { return c == ' ' || c == '\t' || c == '\n' || c == ','; }

/* Goes past WORD if *AT begins with it. */
static bool skip(const char **at, const char *word) {
  size_t length = strlen(word);
  if (strncmp(*at, word, length) != 0)
    return false;
  *at += length;
  return true;
}

static bool read_number(const char **at, double *number) {
  unsigned digits = 0;
  double scale = 1;
  bool fraction = false;
  *number = 0;
  for (;; ++*at) {
    char c = **at;
    if (c == '.' && !fraction && digits > 0) {
      fraction = true;
      if ((*at)[1] < '0' || (*at)[1] > '9')
        return false;
    } else if (c >= '0' && c <= '9' && digits < MAX_DIGITS) {
      digits++;
      *number = *number * 10 + (c - '0');
      scale *= fraction ? 10 : 1;
    } else {
      break;
    }
  }
  *number /= scale;
  return digits > 0;
}

bool ses_require_one(const char **at, struct ses_wire_requirement *requirement) {
  double bytes = 0;
  *requirement = (struct ses_wire_requirement){.weight = 1};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && requirement->kind == 0; i++)
    if (skip(at, kinds[i].name))
      requirement->kind = kinds[i].kind;
  if (requirement->kind == 0 || !skip(at, ">=") || !read_number(at, &requirement->minimum))
    return false;
  for (size_t i = 0; i < sizeof units / sizeof units[0] && bytes == 0; i++)
    if (skip(at, units[i].name))
      bytes = units[i].bytes;
  bool capacity = requirement->kind == SES_KIND_FREE_CAPACITY;
  if (bytes == 0 || (!capacity && !skip(at, "/s")))
    return false;
  requirement->minimum = requirement->minimum * bytes / (capacity ? 1e9 : 1e6); /* as on the wire */
  requirement->hard = skip(at, "!") || skip(at, ",hard");
  if (skip(at, ",weight=") && !read_number(at, &requirement->weight))
    return false;
  return !**at || is_between(**at);
}

int ses_require_parse(const char *text, struct ses_wire_requirement requirements[SES_REQUIRE_KINDS],
                      const char **wrong) {
  struct ses_wire_requirement by_kind[SES_REQUIRE_KINDS + 1] = {{0}};
  int count = 0;
  for (;;) {
    while (is_between(*text))
      text++;
    struct ses_wire_requirement requirement;
    *wrong = text;
    if (!*text)
      break;
    if (!ses_require_one(&text, &requirement) || !ses_is_within_limits(&requirement) ||
        by_kind[requirement.kind].kind != 0)
      return -1;
    by_kind[requirement.kind] = requirement;
  }
  for (unsigned kind = 1; kind <= SES_REQUIRE_KINDS; kind++)
    if (by_kind[kind].kind != 0)
      requirements[count++] = by_kind[kind];
  return count > 0 ? count : -1;
}
