/*
 * ses-near-scan: the storage part of near_fdw.  It reads a table on the node that holds it, and
 * returns the rows that may meet the conditions, with the fields that are needed.
 *
 * It knows of COPY's text format what finds rows and fields: the delimiter, the newline, and that a
 * backslash takes away the meaning of the character behind it.  What else it could misunderstand it
 * returns: PostgreSQL reads it, judges each returned row again, and says what is wrong.
 */
#include "near_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MAX (1u << 20)    /* bytes at once; between two reads a call can be given up */
#define ROW_MAX (16u << 20)    /* bytes of a row */
#define PIECE_READ (32u << 20) /* a call ends after so many bytes of the file, */
#define PIECE_ROWS (1u << 20)  /* or so many of rows */
#define FIELDS_MAX 1664u       /* as many as a table of PostgreSQL can have, and more */

struct source {
  int file;
  size_t begin, end; /* of what was read and not yet taken */
  bool ended;
  char data[ROW_MAX];
};

/* Is the character taken its meaning by a backslash? */
static bool is_escaped(const char *line, const char *at) {
  const char *before = at;
  while (before > line && before[-1] == '\\')
    before--;
  return (at - before) % 2 == 1;
}

/* The next row with its newline; its size, 0 at the end, or -1 with errno. */
static ssize_t next_row(struct source *from, const char **row) {
  size_t seen = 0;
  for (;;) {
    char *line = from->data + from->begin;
    size_t size = from->end - from->begin;
    char *newline = memchr(line + seen, '\n', size - seen);
    seen = newline ? (size_t)(newline + 1 - line) : size;
    if (newline && is_escaped(line, newline))
      continue;
    if (newline || from->ended) {
      from->begin += seen;
      *row = line;
      return (ssize_t)seen;
    }
    memmove(from->data, line, size);
    from->begin = 0;
    from->end = size;
    size_t room = ROW_MAX - size;
    errno = E2BIG;
    ssize_t got =
        room > 0 ? read(from->file, from->data + size, room < READ_MAX ? room : READ_MAX) : -1;
    if (got < 0 && errno != EINTR)
      return -1;
    from->ended = got == 0;
    from->end += got > 0 ? (size_t)got : 0;
    if (ses_offload_is_cancelled()) {
      errno = ECANCELED;
      return -1;
    }
  }
}

/* Finds where fields begin, and after the last where one would; at most MOST of them.  How many. */
static size_t split(const char *row, size_t size, char delimiter, const char **fields,
                    size_t most) {
  const char *end = row + size, *at = row;
  size_t count = 0;
  fields[0] = row;
  for (; at < end && count < most; at++)
    if (*at == '\\')
      at++;
    else if (*at == delimiter)
      fields[++count] = at + 1;
  if (count < most)
    fields[++count] = end + 1;
  return count;
}

static bool holds(int comparison, int compared) {
  switch (comparison) {
  case NEAR_LESS:
    return compared < 0;
  case NEAR_LESS_EQUAL:
    return compared <= 0;
  case NEAR_EQUAL:
    return compared == 0;
  case NEAR_GREATER_EQUAL:
    return compared >= 0;
  case NEAR_GREATER:
    return compared > 0;
  case NEAR_NOT_EQUAL:
    return compared != 0;
  default:
    return true;
  }
}

/* A sign and at most 18 digits, which never are too many; false: something else. */
static bool read_number(const char *field, size_t size, long long *number) {
  size_t at = size > 0 && (*field == '-' || *field == '+');
  *number = 0;
  if (at == size || size - at > 18)
    return false;
  for (; at < size; at++) {
    if (field[at] < '0' || field[at] > '9')
      return false;
    *number = *number * 10 + (field[at] - '0');
  }
  if (*field == '-')
    *number = -*number;
  return true;
}

/* Can the field meet the condition?  NULL meets none. */
static bool can_meet(const char *field, size_t size, const struct near_condition *condition) {
  if (size == 2 && field[0] == '\\' && field[1] == 'N')
    return false;
  if (!condition->text) {
    long long number;
    return !read_number(field, size, &number) ||
           holds(condition->comparison,
                 (number > condition->number) - (number < condition->number));
  }
  if (memchr(field, '\\', size))
    return true;
  size_t length = strlen(condition->text);
  int compared = memcmp(field, condition->text, size < length ? size : length);
  return holds(condition->comparison, compared != 0 ? compared : (size > length) - (size < length));
}

/* The row without its newline: can it meet all conditions? */
static bool can_meet_all(const struct near_order *order, const char *row, size_t size) {
  static const char *fields[FIELDS_MAX + 1];
  size_t depth = 0;
  for (size_t i = 0; i < order->condition_count; i++)
    if (order->conditions[i].field >= depth)
      depth = order->conditions[i].field + 1;
  if (depth == 0 || depth > FIELDS_MAX)
    return true;
  size_t count = split(row, size, (char)order->delimiter, fields, depth);
  for (size_t i = 0; i < order->condition_count; i++) {
    const struct near_condition *condition = &order->conditions[i];
    const char **field = &fields[condition->field];
    if (condition->field < count &&
        !can_meet(field[0], (size_t)(field[1] - 1 - field[0]), condition))
      return false;
  }
  return true;
}

/* Is there the end that COPY marks within the data? */
static bool marks_end(const char *row, size_t size) {
  const char *end = row + size;
  for (const char *at = row; at < end && (at = memchr(at, '\\', (size_t)(end - at))); at += 2)
    if (at + 1 < end && at[1] == '.')
      return true;
  return false;
}

/* Does COPY find other ends of rows in this file? */
static bool has_other_newlines(const char *row, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (row[i] == '\\')
      i++;
    else if (row[i] == '\r' && (i + 1 == size || row[i + 1] != '\n'))
      return true;
  return false;
}

static void add(ses_offload_bytes *to, const void *data, size_t size) {
  memcpy((char *)to->data + to->size, data, size);
  to->size += size;
}

/* Adds a row with its newline if it can meet all conditions; fields that are not needed are empty.
 */
static void add_row(ses_offload_bytes *to, const struct near_order *order, const char *row,
                    size_t size) {
  static const char *fields[FIELDS_MAX + 1];
  const char *wanted = order->wanted.data;
  size_t length = size; /* without the newline */
  if (length > 0 && row[length - 1] == '\n')
    length--;
  if (length > 0 && length < size && row[length - 1] == '\r' && !is_escaped(row, row + length - 1))
    length--;
  if (!can_meet_all(order, row, length))
    return;
  if (order->wanted.size == 0) {
    add(to, row, size);
    return;
  }
  size_t count = split(row, length, (char)order->delimiter, fields, FIELDS_MAX);
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      add(to, &order->delimiter, 1);
    if (i >= order->wanted.size || wanted[i])
      add(to, fields[i], (size_t)(fields[i + 1] - 1 - fields[i]));
  }
  add(to, row + length, size - length);
}

static int fail(const char *text) {
  ses_offload_explain(text);
  return 1;
}

static int read_piece(const struct near_order *order, struct source *from,
                      struct near_piece *piece) {
  size_t taken = 0;
  const char *row;
  ssize_t size = 1;
  while (!piece->last && taken < PIECE_READ && piece->rows.size < PIECE_ROWS) {
    if ((size = next_row(from, &row)) < 0)
      return fail(errno == E2BIG ? "a row has more than 16 MiB" : strerror(errno));
    if (order->offset + taken == 0 && has_other_newlines(row, (size_t)size))
      return fail("its rows do not end with a newline");
    piece->last = size == 0 || marks_end(row, (size_t)size);
    if (size > 0 && piece->last)
      add(&piece->rows, row, (size_t)size);
    else
      add_row(&piece->rows, order, row, (size_t)size);
    taken += (size_t)size;
  }
  piece->offset = order->offset + taken;
  return 0;
}

static int scan(const void *in, void *out) {
  static struct source from; /* calls run one after another */
  const struct near_order *order = in;
  struct near_piece *piece = out;
  struct stat about;
  from.begin = from.end = 0;
  from.ended = false;
  from.file = open(order->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is not waited for */
  if (from.file < 0)
    return fail(strerror(errno));
  int status = 1;
  int failed = fstat(from.file, &about);
  piece->identity = failed ? 0 : about.st_ino;
  piece->rows.data = malloc(PIECE_ROWS + ROW_MAX);
  if (failed || !piece->rows.data)
    fail(strerror(errno));
  else if (!S_ISREG(about.st_mode))
    fail("it is not a regular file");
  else if (order->offset > 0 && (piece->identity != order->identity ||
                                 (unsigned long long)about.st_size < order->offset))
    fail("it was replaced while it was read");
  else if (lseek(from.file, (off_t)order->offset, SEEK_SET) < 0)
    fail(strerror(errno));
  else {
    posix_fadvise(from.file, 0, 0, POSIX_FADV_SEQUENTIAL);
    status = read_piece(order, &from, piece);
  }
  close(from.file);
  return status;
}

int main(int argc, char **argv) {
  ses_offload_init(&argc, &argv);
  ses_offload_register_function(NEAR_SCAN, scan, &near_order_type, &near_piece_type);
  ses_offload_serve(); /* in the storage part: never returns */
  fputs("ses-near-scan is started by near_fdw, an extension of PostgreSQL.\n", stderr);
  return 2;
}
