/* Streams by row; see streams.h. */
#include "streams.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "streams_ring.h"

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

  struct ses_ring ring;
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

/* GCC 12 takes memory for lost here that a row holds. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"

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
    if (element == SES_NO_ELEMENT || !reach(streams, (size_t)element + 1))
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

/* ------------------------------------------------------------------- recent ones */

void ses_streams_note(struct ses_streams *streams, int64_t id, const uint32_t *elements,
                      size_t count, double began, double ended) {
  ses_ring_note(&streams->ring, id, elements, count, began, ended);
}

void ses_streams_forget(struct ses_streams *streams, double horizon) {
  ses_ring_forget(&streams->ring, horizon);
}

void ses_streams_average(const struct ses_streams *streams, const double *sampled_at, double window,
                         double *averaged) {
  memset(averaged, 0, streams->row_count * sizeof *averaged);
  for (uint64_t number = streams->ring.head; number < streams->ring.tail; number++) {
    const struct ses_ring_place *place = ses_ring_at(&streams->ring, number);
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

size_t ses_streams_noted(const struct ses_streams *streams) { return streams->ring.known; }

/* ------------------------------------------------------------------------- life */

struct ses_streams *ses_streams_make(void) {
  struct ses_streams *streams = calloc(1, sizeof *streams);
  if (streams && !ses_ring_make(&streams->ring)) {
    ses_streams_free(streams);
    return NULL;
  }
  return streams;
}

void ses_streams_free(struct ses_streams *streams) {
  if (streams == NULL)
    return;
  free_rows(streams);
  free(streams->placed);
  ses_ring_free(&streams->ring);
  free(streams);
}
