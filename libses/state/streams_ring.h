/* A ring of the streams that began or ended recently, in the order in which they began. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SES_NO_ELEMENT UINT32_MAX

/* An element a stream is on; of one that is noted anew elsewhere there is SES_NO_ELEMENT.  Seconds.
 */
struct ses_ring_place {
  double began;
  double ended;
  uint32_t element;
};

/* A stream that is noted: its places are COUNT from FIRST on. */
struct ses_ring_noted {
  int64_t id;
  uint64_t first;
  uint32_t count;
};

struct ses_ring {
  struct ses_ring_place *places; /* from HEAD up to TAIL */
  uint64_t place_size, head, tail;
  struct ses_ring_noted *noted; /* a ring, from OLDEST up to NEWEST */
  uint64_t noted_size, oldest, newest;
  uint64_t *table; /* by id, open addressing: a number of NOTED and one more; 0: free */
  uint64_t table_size;
  size_t known;
};

/* Returns false without memory; it can be freed then, too. */
bool ses_ring_make(struct ses_ring *ring);
void ses_ring_free(struct ses_ring *ring);
/* As ses_streams_note() and ses_streams_forget(). */
void ses_ring_note(struct ses_ring *ring, int64_t id, const uint32_t *elements, size_t count,
                   double began, double ended);
void ses_ring_forget(struct ses_ring *ring, double horizon);

static inline struct ses_ring_place *ses_ring_at(const struct ses_ring *ring, uint64_t number) {
  return &ring->places[number & (ring->place_size - 1)];
}
