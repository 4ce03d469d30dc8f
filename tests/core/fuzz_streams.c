/* Calls at random, on rows that change now and then; what goes wrong, a sanitizer says.  Streams
 * that are all taken back leave nothing: SEED, and how many calls. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "streams.h"

#define MAX_ROWS 40u
#define MAX_ELEMENTS 60u
#define KEPT 500u

struct stream {
  uint32_t elements[4];
  size_t count;
  double bytes, rate;
};

static double columns[6][MAX_ROWS];
static struct stream kept[KEPT];
static size_t kept_count;

static uint32_t below(uint32_t limit) { return (uint32_t)rand() % limit; }

static void bind(struct ses_streams *streams) {
  uint32_t device[MAX_ROWS], room[MAX_ROWS], row_of[MAX_ELEMENTS];
  size_t rows = below(MAX_ROWS + 1);
  for (uint32_t row = 0; row < rows; row++) {
    device[row] = row && below(2) ? device[below(row)] : row;
    room[row] = device[row] == row || below(2) ? row : device[row];
  }
  for (size_t element = 0; element < MAX_ELEMENTS; element++)
    row_of[element] = rows && below(4) ? below((uint32_t)rows) : SES_NO_ROW;
  memset(columns, 0, sizeof columns);
  struct ses_streams_counts counts = {columns[0], columns[1], columns[2],
                                      columns[3], columns[4], columns[5]};
  if (ses_streams_bind(streams, rows, device, room, below(MAX_ELEMENTS + 1), row_of, &counts))
    exit(2);
  kept_count = 0;
}

static void begin(struct ses_streams *streams, struct stream *one) {
  one->count = below(5);
  one->bytes = below(1000);
  one->rate = below(3);
  for (size_t at = 0; at < one->count; at++)
    one->elements[at] = below(20) ? below(MAX_ELEMENTS) : below(200);
  ses_streams_count(streams, one->elements, one->count, 1.0, one->bytes);
  ses_streams_promise(streams, one->elements, one->count, one->rate, one->rate, 1);
}

static void end(struct ses_streams *streams, const struct stream *one) {
  ses_streams_count(streams, one->elements, one->count, -1.0, -one->bytes);
  ses_streams_promise(streams, one->elements, one->count, one->rate, one->rate, -1);
}

int main(int argc, char **argv) {
  (void)argc;
  srand((unsigned)strtoul(argv[1], NULL, 10));
  struct ses_streams *streams = ses_streams_make();
  double sampled_at[MAX_ROWS], averaged[MAX_ROWS], now = 0.0;
  uint32_t changed[MAX_ROWS];
  bind(streams);
  for (long left = strtol(argv[2], NULL, 10); left-- > 0; now += 0.001) {
    struct stream one = {.count = 1, .elements = {below(MAX_ELEMENTS)}};
    switch (below(200)) {
    case 0:
      bind(streams);
      break;
    case 1:
      ses_streams_forget(streams, now - below(10));
      break;
    case 2:
      for (size_t row = 0; row < MAX_ROWS; row++)
        sampled_at[row] = below(5) ? now - below(3) : (double)NAN;
      ses_streams_average(streams, sampled_at, 1.0, averaged);
      break;
    case 3:
      ses_streams_changed(streams, changed);
      break;
    default:
      if (kept_count < KEPT && below(2))
        begin(streams, &kept[kept_count++]);
      else if (kept_count)
        end(streams, &kept[--kept_count]);
      ses_streams_placed(streams, one.elements, one.count, now);
      ses_streams_note(streams, below(5000), one.elements, one.count, now,
                       below(2) ? now + 1.0 : (double)INFINITY);
    }
  }
  while (kept_count)
    end(streams, &kept[--kept_count]);
  for (size_t row = 0; row < MAX_ROWS; row++)
    if (columns[0][row] != 0 || fabs(columns[1][row]) > 1e-6 || columns[3][row] != 0 ||
        columns[4][row] != 0) {
      fprintf(stderr, "row %zu keeps %g streams, %g bytes, %g promises\n", row, columns[0][row],
              columns[1][row], columns[3][row]);
      return 1;
    }
  ses_streams_forget(streams, INFINITY);
  size_t noted = ses_streams_noted(streams);
  ses_streams_free(streams);
  return noted != 0;
}
