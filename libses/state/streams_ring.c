/* See streams_ring.h. */
#include "streams_ring.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_SIZE 1024u /* of rings; a power of two, as all their sizes */

static struct ses_ring_noted *noted_at(const struct ses_ring *ring, uint64_t number) {
  return &ring->noted[number & (ring->noted_size - 1)];
}

static uint64_t slot_of(const struct ses_ring *ring, int64_t id) {
  uint64_t mixed = (uint64_t)id * UINT64_C(0x9E3779B97F4A7C15);
  return (mixed ^ (mixed >> 32)) & (ring->table_size - 1);
}

/* The slot of ID in the table, or a free one. */
static uint64_t find(const struct ses_ring *ring, int64_t id) {
  uint64_t slot = slot_of(ring, id);
  while (ring->table[slot] && noted_at(ring, ring->table[slot] - 1)->id != id)
    slot = (slot + 1) & (ring->table_size - 1);
  return slot;
}

/* Free a slot; what comes after it moves up, so that it is found. */
static void vacate(struct ses_ring *ring, uint64_t slot) {
  uint64_t mask = ring->table_size - 1;
  ring->known--;
  ring->table[slot] = 0;
  for (uint64_t next = (slot + 1) & mask; ring->table[next]; next = (next + 1) & mask) {
    uint64_t wanted = slot_of(ring, noted_at(ring, ring->table[next] - 1)->id);
    if (((next - wanted) & mask) < ((next - slot) & mask))
      continue;
    ring->table[slot] = ring->table[next];
    ring->table[next] = 0;
    slot = next;
  }
}

static bool widen_places(struct ses_ring *ring) {
  struct ses_ring_place *wider = malloc(2 * ring->place_size * sizeof *wider);
  if (wider == NULL)
    return false;
  for (uint64_t number = ring->head; number < ring->tail; number++)
    wider[number & (2 * ring->place_size - 1)] = *ses_ring_at(ring, number);
  free(ring->places);
  ring->places = wider;
  ring->place_size *= 2;
  return true;
}

/* The table has twice as many slots as streams can be noted. */
static bool widen_noted(struct ses_ring *ring) {
  uint64_t size = 2 * ring->noted_size;
  struct ses_ring_noted *wider = malloc(size * sizeof *wider);
  uint64_t *table = calloc(2 * size, sizeof *table);
  if (wider == NULL || table == NULL) {
    free(wider);
    free(table);
    return false;
  }
  uint64_t *before = ring->table;
  uint64_t slots = ring->table_size;
  for (uint64_t number = ring->oldest; number < ring->newest; number++)
    wider[number & (size - 1)] = *noted_at(ring, number);
  free(ring->noted);
  ring->noted = wider;
  ring->noted_size = size;
  ring->table = table;
  ring->table_size = 2 * size;
  for (uint64_t slot = 0; slot < slots; slot++)
    if (before[slot])
      table[find(ring, noted_at(ring, before[slot] - 1)->id)] = before[slot];
  free(before);
  return true;
}

static bool is_on(const struct ses_ring *ring, const struct ses_ring_noted *noted,
                  const uint32_t *elements, size_t count) {
  if (noted->count != count)
    return false;
  for (size_t at = 0; at < count; at++)
    if (ses_ring_at(ring, noted->first + at)->element != elements[at])
      return false;
  return true;
}

/* Returns NULL without memory. */
static const struct ses_ring_noted *append(struct ses_ring *ring, int64_t id,
                                           const uint32_t *elements, size_t count) {
  while (ring->tail - ring->head + count > ring->place_size)
    if (!widen_places(ring))
      return NULL;
  if (ring->newest - ring->oldest == ring->noted_size && !widen_noted(ring))
    return NULL;
  uint64_t slot = find(ring, id);
  if (ring->table[slot]) { /* on other elements */
    const struct ses_ring_noted *before = noted_at(ring, ring->table[slot] - 1);
    for (uint32_t at = 0; at < before->count; at++)
      ses_ring_at(ring, before->first + at)->element = SES_NO_ELEMENT;
  } else {
    ring->known++;
  }
  struct ses_ring_noted *noted = noted_at(ring, ring->newest++);
  *noted = (struct ses_ring_noted){id, ring->tail, (uint32_t)count};
  ring->table[slot] = ring->newest;
  ring->tail += count;
  for (size_t at = 0; at < count; at++)
    ses_ring_at(ring, noted->first + at)->element = elements[at];
  return noted;
}

void ses_ring_note(struct ses_ring *ring, int64_t id, const uint32_t *elements, size_t count,
                   double began, double ended) {
  if (count == 0)
    return;
  uint64_t known = ring->table[find(ring, id)];
  const struct ses_ring_noted *noted = known ? noted_at(ring, known - 1) : NULL;
  if (noted == NULL || !is_on(ring, noted, elements, count))
    noted = append(ring, id, elements, count);
  for (size_t at = 0; noted && at < count; at++) {
    ses_ring_at(ring, noted->first + at)->began = began;
    ses_ring_at(ring, noted->first + at)->ended = ended;
  }
}

void ses_ring_forget(struct ses_ring *ring, double horizon) {
  for (; ring->oldest < ring->newest; ring->oldest++) {
    const struct ses_ring_noted *oldest = noted_at(ring, ring->oldest);
    const struct ses_ring_place *first = ses_ring_at(ring, oldest->first);
    uint64_t slot = find(ring, oldest->id);
    if (ring->table[slot] == ring->oldest + 1) { /* else it is noted anew */
      if ((isinf(first->ended) ? first->began : first->ended) >= horizon)
        return;
      vacate(ring, slot);
    }
    ring->head += oldest->count;
  }
}

bool ses_ring_make(struct ses_ring *ring) {
  *ring = (struct ses_ring){
      .place_size = FIRST_SIZE, .noted_size = FIRST_SIZE, .table_size = 2u * FIRST_SIZE};
  ring->places = malloc(ring->place_size * sizeof *ring->places);
  ring->noted = malloc(ring->noted_size * sizeof *ring->noted);
  ring->table = calloc(ring->table_size, sizeof *ring->table);
  return ring->places && ring->noted && ring->table;
}

void ses_ring_free(struct ses_ring *ring) {
  free(ring->places);
  free(ring->noted);
  free(ring->table);
}
