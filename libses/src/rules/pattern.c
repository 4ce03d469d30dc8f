#include "rules/pattern.h"

#include <string.h>

/* Is C in the set after '['?  *END: after its ']'; NULL when there is none, and '[' is itself. */
static bool is_in_set(const char *set, const char *stop, char c, const char **end) {
  bool inverse = set < stop && *set == '!';
  bool is_in = false;
  const char *at = set + inverse;
  *end = NULL;
  for (const char *first = at; at < stop && (at == first || *at != ']'); at++) {
    unsigned char low = (unsigned char)*at;
    unsigned char high = low;
    if (stop - at > 2 && at[1] == '-' && at[2] != ']') {
      high = (unsigned char)at[2];
      at += 2;
    }
    is_in |= (unsigned char)c >= low && (unsigned char)c <= high;
  }
  if (at < stop)
    *end = at + 1;
  return is_in != inverse;
}

/* Does the one step at *PATTERN, no star, take C?  *PATTERN is then after it. */
static bool takes(const char **pattern, const char *stop, char c) {
  const char *end = NULL;
  switch (**pattern) {
  case '?':
    ++*pattern;
    return c != '/';
  case '[': {
    bool in = is_in_set(*pattern + 1, stop, c, &end);
    if (!end)
      break;
    *pattern = end;
    return in && c != '/';
  }
  case '\\':
    if (stop - *pattern > 1)
      ++*pattern;
    break;
  }
  return *(*pattern)++ == c;
}

/* On a mismatch the last "*" takes a byte more, and when that is '/', the last "**" does: what an
 * earlier one could take, the later one can as well. */
static bool fits(const char *pattern, const char *stop, const char *text) {
  const char *star = NULL, *star_text = NULL;
  const char *wide = NULL, *wide_text = NULL;
  for (;;) {
    if (pattern < stop && *pattern == '*') {
      pattern++;
      if (pattern < stop && *pattern == '*') {
        while (pattern < stop && *pattern == '*')
          pattern++;
        wide = pattern;
        wide_text = text;
        star = NULL;
      } else {
        star = pattern;
        star_text = text;
      }
      continue;
    }
    if (!*text && pattern == stop)
      return true;
    if (*text && pattern < stop && takes(&pattern, stop, *text)) {
      text++;
      continue;
    }
    if (star && *star_text && *star_text != '/') {
      pattern = star;
      text = ++star_text;
    } else if (wide && *wide_text) {
      star = NULL;
      pattern = wide;
      text = ++wide_text;
    } else {
      return false;
    }
  }
}

bool ses_pattern_needs_path(const char *list) { return strchr(list, '/') != NULL; }

bool ses_pattern_fits(const char *list, const char *path, const char *name) {
  for (const char *stop = list; *list; list = *stop ? stop + 1 : stop) {
    stop = strchr(list, ':');
    if (!stop)
      stop = list + strlen(list);
    if (stop > list && fits(list, stop, memchr(list, '/', (size_t)(stop - list)) ? path : name))
      return true;
  }
  return false;
}
