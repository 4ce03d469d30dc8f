/*
 * One other node's table as it is kept on this node: copies go in, records of this node's clock
 * come out.  No network and no thread; used by one thread at a time.
 *
 * The clocks of two nodes differ by an unknown, nearly constant amount.  A sample was taken before
 * the copy that shows it arrived, so "arrival less time of the newest sample" is never less than
 * the difference; the least of these in the last SMED_CLOCK_NS to twice that is taken for it.  Ages
 * are thus told too small by at most the age of the youngest sample that arrived in that time: less
 * than a period of the sampler and one reading.  What the first copy shows is not believed to be of
 * now: nothing comes out before a copy shows a newer sample.
 */
#ifndef SMED_MIRRORED_H
#define SMED_MIRRORED_H

#include "table.h"

#define SMED_CLOCK_NS 8000000000ull

struct smed_mirrored {
  struct smed_table *table; /* NULL until the other node was reached */
  uint64_t period_ns; /* between two copies: told to readers, unless the sampler's is longer */
  uint64_t *last;     /* time of each record's last sample, by the other node's clock */
  uint64_t newest;    /* of them, in the last copy; 0: there was none */
  uint64_t offset[2]; /* this node's clock less the other's: the last two windows' least */
  uint64_t window_ns; /* when the newer one began; 0: nothing is known */
};

/* Make or keep the file PATH for a table of COUNT records; the clocks are not known any more. */
bool smed_mirrored_begin(struct smed_mirrored *mirrored, const char *path, uint32_t count);

/* Take in COPY, which arrived at NOW_NS and has room for the table's records.  False: it is no
 * table of that many records. */
bool smed_mirrored_take(struct smed_mirrored *mirrored, const struct smed_table *copy,
                        uint64_t now_ns);

#endif
