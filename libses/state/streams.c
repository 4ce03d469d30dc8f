/* Streams by row, and a ring of those that began or ended recently; see streams.h. */
#include "streams.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 1024u /* of rings; a power of two, as all their sizes */
#define NO_ELEMENT UINT32_MAX

/* Streams of one row that ask for the same rates. */
struct promise {
  double rate;
  double hard;
  uint32_t number;
};

struct row {
  uint32_t device; /* the first row there, and the next one; the last is followed by the first */
  uint32_t next;
  uint32_t room;
  bool changed;
  uint32_t promise_count;
  struct promise *promises;
};

/* A stream that is noted: its places in the ring are COUNT from FIRST on. */
struct noted {
  int64_t id;
  uint64_t first;
  uint32_t count;
};

/* An element a stream is on; of one that is noted anew elsewhere there is NO_ELEMENT. */
struct place {
  double began;
  double ended;
  uint32_t element;
};

struct ses_streams {
  struct ses_streams_counts counts;
  struct row *rows;
  size_t row_count;
  uint32_t *changed;
  size_t changed_count;
  uint32_t *row_of; /* by element */
  double *placed;   /* by element, whether or not it has a row */
  size_t element_count;
  size_t placed_count;

  struct place *places; /* a ring, from HEAD up to TAIL */
  uint64_t place_size, head, tail;
  struct noted *noted; /* a ring, from OLDEST up to NEWEST */
  uint64_t noted_size, oldest, newest;
  uint64_t *table; /* by id, open addressing: a number of NOTED and one more; 0: free */
  uint64_t table_size;
  size_t known;
};

/* ------------------------------------------------------------------------ rows */

static uint32_t row_of(const struct ses_streams *streams, uint32_t element) {
  return element < streams->element_count ? streams->row_of[element] : SES_NO_ROW;
}

static void mark(struct ses_streams *streams, uint32_t row) {
  if (streams->rows[row].changed)
    return;
  streams->rows[row].changed = true;
  streams->changed[streams->changed_count++] = row;
}

static void free_rows(struct ses_streams *streams) {
  for (size_t row = 0; row < streams->row_count; row++)
    free(streams->rows[row].promises);
  free(streams->rows);
  free(streams->changed);
  free(streams->row_of);
  streams->rows = NULL;
  streams->changed = NULL;
  streams->row_of = NULL;
  streams->row_count = streams->changed_count = streams->element_count = 0;
}

static bool reach(struct ses_streams *streams, size_t elements) {
  if (elements <= streams->placed_count)
    return true;
  double *placed = realloc(streams->placed, elements * sizeof *placed);
  if (placed == NULL)
    return false;
  memset(placed + streams->placed_count, 0, (elements - streams->placed_count) * sizeof *placed);
  streams->placed = placed;
  streams->placed_count = elements;
  return true;
}

int ses_streams_bind(struct ses_streams *streams, size_t rows, const uint32_t *device,
                     const uint32_t *room, size_t elements, const uint32_t *row_of_element,
                     const struct ses_streams_counts *counts) {
  free_rows(streams);
  streams->rows = calloc(rows + 1, sizeof *streams->rows);
  streams->changed = malloc((rows + 1) * sizeof *streams->changed);
  streams->row_of = malloc((elements + 1) * sizeof *streams->row_of);
  if (!streams->rows || !streams->changed || !streams->row_of || !reach(streams, elements)) {
    free_rows(streams);
    return -1;
  }
  streams->counts = *counts;
  streams->row_count = rows;
  streams->element_count = elements;
  for (size_t row = 0; row < rows; row++) {
    struct row *first = &streams->rows[device[row]];
    streams->rows[row].device = device[row];
    streams->rows[row].room = room[row];
    streams->rows[row].next = device[row] == row ? (uint32_t)row : first->next;
    first->next = (uint32_t)row;
  }
  for (size_t element = 0; element < elements; element++) {
    uint32_t row = row_of_element[element] < rows ? row_of_element[element] : SES_NO_ROW;
    streams->row_of[element] = row;
    if (row != SES_NO_ROW)
      counts->last_placed[row] = streams->placed[element];
  }
  return 0;
}

void ses_streams_count(struct ses_streams *streams, const uint32_t *elements, size_t count,
                       double number, double bytes) {
  for (size_t at = 0; at < count; at++) {
    uint32_t first = row_of(streams, elements[at]);
    if (first == SES_NO_ROW)
      continue;
    uint32_t row = first;
    do {
      streams->counts.open_now[row] += number;
      if (streams->rows[row].room == streams->rows[first].room)
        streams->counts.reserved[row] += bytes / (double)count;
      mark(streams, row);
      row = streams->rows[row].next;
    } while (row != first);
  }
}

/* Returns false without memory. */
static bool change(struct row *row, double rate, double hard, int number) {
  for (uint32_t at = 0; at < row->promise_count; at++) {
    struct promise *one = &row->promises[at];
    if (one->rate != rate || one->hard != hard)
      continue;
    one->number += (uint32_t)number;
    if (one->number == 0)
      *one = row->promises[--row->promise_count];
    return true;
  }
  if (number < 0)
    return false;
  struct promise *more = realloc(row->promises, (row->promise_count + 1) * sizeof *row->promises);
  if (more == NULL)
    return false;
  row->promises = more;
  row->promises[row->promise_count++] = (struct promise){rate, hard, (uint32_t)number};
  return true;
}

void ses_streams_promise(struct ses_streams *streams, const uint32_t *elements, size_t count,
                         double rate, double hard, int number) {
  for (size_t at = 0; at < count; at++) {
    uint32_t first = row_of(streams, elements[at]);
    if (first == SES_NO_ROW)
      continue;
    uint32_t row = first;
    do {
      struct row *one = &streams->rows[row];
      if (change(one, rate, hard, number)) {
        double largest = 0.0;
        double largest_hard = 0.0;
        for (uint32_t promise = 0; promise < one->promise_count; promise++) {
          largest = fmax(largest, one->promises[promise].rate);
          largest_hard = fmax(largest_hard, one->promises[promise].hard);
        }
        streams->counts.promises[row] += number;
        streams->counts.promised[row] = largest;
        streams->counts.promised_hard[row] = largest_hard;
        mark(streams, row);
      }
      row = one->next;
    } while (row != first);
  }
}

void ses_streams_placed(struct ses_streams *streams, const uint32_t *elements, size_t count,
                        double at) {
  for (size_t place = 0; place < count; place++) {
    uint32_t element = elements[place];
    if (element == NO_ELEMENT || !reach(streams, (size_t)element + 1))
      continue;
    streams->placed[element] = fmax(streams->placed[element], at);
    uint32_t row = row_of(streams, element);
    if (row == SES_NO_ROW)
      continue;
    streams->counts.last_placed[row] = streams->placed[element];
    mark(streams, row);
  }
}

size_t ses_streams_changed(struct ses_streams *streams, uint32_t *rows) {
  size_t count = streams->changed_count;
  for (size_t at = 0; at < count; at++) {
    rows[at] = streams->changed[at];
    streams->rows[rows[at]].changed = false;
  }
  streams->changed_count = 0;
  return count;
}

/* ------------------------------------------------------------------- the rings */

static struct place *place_at(const struct ses_streams *streams, uint64_t number) {
  return &streams->places[number & (streams->place_size - 1)];
}

static struct noted *noted_at(const struct ses_streams *streams, uint64_t number) {
  return &streams->noted[number & (streams->noted_size - 1)];
}

static uint64_t slot_of(const struct ses_streams *streams, int64_t id) {
  uint64_t mixed = (uint64_t)id * UINT64_C(0x9E3779B97F4A7C15);
  return (mixed ^ (mixed >> 32)) & (streams->table_size - 1);
}

/* The slot of ID in the table, or a free one. */
static uint64_t find(const struct ses_streams *streams, int64_t id) {
  uint64_t slot = slot_of(streams, id);
  while (streams->table[slot] && noted_at(streams, streams->table[slot] - 1)->id != id)
    slot = (slot + 1) & (streams->table_size - 1);
  return slot;
}

/* Free a slot; what comes after it moves up, so that it is found. */
static void vacate(struct ses_streams *streams, uint64_t slot) {
  uint64_t mask = streams->table_size - 1;
  streams->known--;
  streams->table[slot] = 0;
  for (uint64_t next = (slot + 1) & mask; streams->table[next]; next = (next + 1) & mask) {
    uint64_t wanted = slot_of(streams, noted_at(streams, streams->table[next] - 1)->id);
    if (((next - wanted) & mask) < ((next - slot) & mask))
      continue;
    streams->table[slot] = streams->table[next];
    streams->table[next] = 0;
    slot = next;
  }
}

static bool widen_places(struct ses_streams *streams) {
  struct place *wider = malloc(2 * streams->place_size * sizeof *wider);
  if (wider == NULL)
    return false;
  for (uint64_t number = streams->head; number < streams->tail; number++)
    wider[number & (2 * streams->place_size - 1)] = *place_at(streams, number);
  free(streams->places);
  streams->places = wider;
  streams->place_size *= 2;
  return true;
}

/* The table has twice as many slots as streams can be noted. */
static bool widen_noted(struct ses_streams *streams) {
  uint64_t size = 2 * streams->noted_size;
  struct noted *wider = malloc(size * sizeof *wider);
  uint64_t *table = calloc(2 * size, sizeof *table);
  if (wider == NULL || table == NULL) {
    free(wider);
    free(table);
    return false;
  }
  uint64_t *before = streams->table;
  uint64_t slots = streams->table_size;
  for (uint64_t number = streams->oldest; number < streams->newest; number++)
    wider[number & (size - 1)] = *noted_at(streams, number);
  free(streams->noted);
  streams->noted = wider;
  streams->noted_size = size;
  streams->table = table;
  streams->table_size = 2 * size;
  for (uint64_t slot = 0; slot < slots; slot++)
    if (before[slot])
      table[find(streams, noted_at(streams, before[slot] - 1)->id)] = before[slot];
  free(before);
  return true;
}

static bool is_on(const struct ses_streams *streams, const struct noted *noted,
                  const uint32_t *elements, size_t count) {
  if (noted->count != count)
    return false;
  for (size_t at = 0; at < count; at++)
    if (place_at(streams, noted->first + at)->element != elements[at])
      return false;
  return true;
}

/* Returns NULL without memory. */
static const struct noted *append(struct ses_streams *streams, int64_t id, const uint32_t *elements,
                                  size_t count) {
  while (streams->tail - streams->head + count > streams->place_size)
    if (!widen_places(streams))
      return NULL;
  if (streams->newest - streams->oldest == streams->noted_size && !widen_noted(streams))
    return NULL;
  uint64_t slot = find(streams, id);
  if (streams->table[slot]) { /* on other elements */
    const struct noted *before = noted_at(streams, streams->table[slot] - 1);
    for (uint32_t at = 0; at < before->count; at++)
      place_at(streams, before->first + at)->element = NO_ELEMENT;
  } else {
    streams->known++;
  }
  struct noted *noted = noted_at(streams, streams->newest++);
  *noted = (struct noted){id, streams->tail, (uint32_t)count};
  streams->table[slot] = streams->newest;
  streams->tail += count;
  for (size_t at = 0; at < count; at++)
    place_at(streams, noted->first + at)->element = elements[at];
  return noted;
}

void ses_streams_note(struct ses_streams *streams, int64_t id, const uint32_t *elements,
                      size_t count, double began, double ended) {
  if (count == 0)
    return;
  uint64_t known = streams->table[find(streams, id)];
  const struct noted *noted = known ? noted_at(streams, known - 1) : NULL;
  if (noted == NULL || !is_on(streams, noted, elements, count))
    noted = append(streams, id, elements, count);
  for (size_t at = 0; noted && at < count; at++) {
    place_at(streams, noted->first + at)->began = began;
    place_at(streams, noted->first + at)->ended = ended;
  }
}

void ses_streams_forget(struct ses_streams *streams, double horizon) {
  for (; streams->oldest < streams->newest; streams->oldest++) {
    const struct noted *oldest = noted_at(streams, streams->oldest);
    const struct place *first = place_at(streams, oldest->first);
    uint64_t slot = find(streams, oldest->id);
    if (streams->table[slot] == streams->oldest + 1) { /* else it is noted anew */
      if ((isinf(first->ended) ? first->began : first->ended) >= horizon)
        return;
      vacate(streams, slot);
    }
    streams->head += oldest->count;
  }
}

void ses_streams_average(const struct ses_streams *streams, const double *sampled_at, double window,
                         double *averaged) {
  memset(averaged, 0, streams->row_count * sizeof *averaged);
  for (uint64_t number = streams->head; number < streams->tail; number++) {
    const struct place *place = place_at(streams, number);
    uint32_t row = row_of(streams, place->element);
    if (row == SES_NO_ROW)
      continue;
    row = streams->rows[row].device;
    double taken = sampled_at[row];
    double there = 0.0;
    if (!isnan(taken))
      there = exp(fmax(0.0, taken - place->ended) / -window) -
              exp(fmax(0.0, taken - place->began) / -window);
    averaged[row] += there - (isinf(place->ended) ? 1.0 : 0.0);
  }
  for (size_t row = streams->row_count; row-- > 0;) /* a device's first row comes last of them */
    averaged[row] = fmax(0.0, streams->counts.open_now[row] + averaged[streams->rows[row].device]);
}

size_t ses_streams_noted(const struct ses_streams *streams) { return streams->known; }

/* ------------------------------------------------------------------------- life */

struct ses_streams *ses_streams_make(void) {
  struct ses_streams *streams = calloc(1, sizeof *streams);
  if (streams == NULL)
    return NULL;
  streams->place_size = streams->noted_size = FIRST_SIZE;
  streams->table_size = 2u * FIRST_SIZE;
  streams->places = malloc(streams->place_size * sizeof *streams->places);
  streams->noted = malloc(streams->noted_size * sizeof *streams->noted);
  streams->table = calloc(streams->table_size, sizeof *streams->table);
  if (streams->places && streams->noted && streams->table)
    return streams;
  ses_streams_free(streams);
  return NULL;
}

void ses_streams_free(struct ses_streams *streams) {
  if (streams == NULL)
    return;
  free_rows(streams);
  free(streams->placed);
  free(streams->places);
  free(streams->noted);
  free(streams->table);
  free(streams);
}
