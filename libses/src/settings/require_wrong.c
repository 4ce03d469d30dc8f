#include "settings/require_wrong.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/require.h"

#define MAX_KIND 32
#define MAX_NUMBER 20
#define MAX_UNIT 16

struct meant {
  char prefix[3]; /* "M", "Gi", or nothing */
  bool bits;
};

/* Goes past the longest of WORDS that *AT begins with; the list ends with "". */
static void skip_one_of(const char **at, const char *const *words) {
  while (**words && strncmp(*at, *words, strlen(*words)) != 0)
    words++;
  *at += strlen(*words);
}

static bool counts_bits(const char *unit, const char *small) {
  return strstr(small, "bit") != NULL ||
         (isupper((unsigned char)unit[0]) && strchr(unit, 'b') != NULL &&
          strstr(small, "byte") == NULL);
}

/* Reads UNIT in any way people write bytes, or bits, a second or not. */
static bool read_unit(const char *unit, struct meant *meant) {
  static const char *const data[] = {"bytes", "byte", "bits", "bit", "b", ""};
  static const char *const per[] = {"/", "per", "p", ""};
  static const char *const second[] = {"seconds", "second", "secs", "sec", "s", ""};
  char small[MAX_UNIT + 1] = "";
  for (size_t i = 0; unit[i]; i++)
    small[i] = (char)tolower((unsigned char)unit[i]);
  const char *at = small;
  *meant = (struct meant){.bits = counts_bits(unit, small)};
  if (*at && strchr("kmgtp", *at)) {
    bool binary = at[1] == 'i' && at[2] != 't'; /* not those of "kit" */
    meant->prefix[0] = (char)(*at == 'k' && !binary ? 'k' : toupper((unsigned char)*at));
    meant->prefix[1] = binary ? 'i' : '\0';
    at += binary ? 2 : 1;
  }
  skip_one_of(&at, data);
  if (at == small)
    return false;
  skip_one_of(&at, per);
  skip_one_of(&at, second);
  return *at == '\0';
}

/* Whether the unit is the one that was typed, so that something else is wrong. */
static bool begins_with(const char *wrong, const char *text, size_t length) {
  return strncmp(wrong, text, length) == 0 && strchr(" \t\n,!", wrong[length]) != NULL;
}

/* The requirement that WRONG begins with, in a unit there is, into TEXT. */
static bool rewrite(const char *wrong, char *text, size_t size) {
  size_t kind = strcspn(wrong, "> \t\n,");
  if (kind > MAX_KIND || strncmp(wrong + kind, ">=", 2) != 0)
    return false;
  const char *number = wrong + kind + 2;
  size_t digits = strspn(number, "0123456789.");
  const char *unit = number + digits + strspn(number + digits, " ");
  size_t letters = strcspn(unit, " \t\n,!");
  if (digits == 0 || digits > MAX_NUMBER || letters == 0 || letters > MAX_UNIT)
    return false;
  char typed[MAX_UNIT + 1] = "";
  struct meant meant;
  memcpy(typed, unit, letters);
  if (!read_unit(typed, &meant))
    return false;
  bool capacity = strncmp(wrong, "free", 4) == 0 || strncmp(wrong, "setCapacity", 11) == 0;
  char bytes[MAX_NUMBER + 12];
  if (meant.bits)
    snprintf(bytes, sizeof bytes, "%.6g", strtod(number, NULL) / 8);
  else
    snprintf(bytes, sizeof bytes, "%.*s", (int)digits, number);
  int written = snprintf(text, size, "%.*s>=%s%sB%s", (int)kind, wrong, bytes, meant.prefix,
                         capacity ? "" : "/s");
  struct ses_wire_requirement requirements[SES_REQUIRE_KINDS];
  const char *rest = NULL;
  return written > 0 && (size_t)written < size && !begins_with(wrong, text, (size_t)written) &&
         ses_require_parse(text, requirements, &rest) == 1;
}

void ses_require_wrong(char *why, size_t size, const char *wrong) {
  char text[MAX_KIND + MAX_NUMBER + MAX_UNIT + 16];
  struct ses_wire_requirement requirement;
  const char *end = wrong;
  bool is_read = ses_require_one(&end, &requirement);
  if (is_read && !(requirement.weight > 0 && requirement.weight <= SES_WEIGHT_MAX))
    snprintf(why, size, "has a weight that cannot be in '%.*s'; write one above 0, at most %.0f",
             (int)(end - wrong), wrong, SES_WEIGHT_MAX);
  else if (is_read && !ses_is_within_limits(&requirement))
    snprintf(why, size, "requires more than can be in '%.*s'; write at most %.0fPB%s",
             (int)(end - wrong), wrong, SES_BOUND_MAX / 1e15,
             requirement.kind == SES_KIND_FREE_CAPACITY ? "" : "/s");
  else if (is_read)
    snprintf(why, size, "has a kind for the second time in '%.*s'; write each once",
             (int)(end - wrong), wrong);
  else if (rewrite(wrong, text, sizeof text))
    snprintf(why, size, "is not understood from '%s' on; did you mean \"%s\"?", wrong, text);
  else
    snprintf(why, size,
             "is not understood from '%s' on; it takes KIND>=NUMBERUNIT such as "
             "\"write>=300MB/s free>=2TB\"",
             wrong);
}
