/*
 * One-sided reads (RMA) of another node's memory by libfabric, which is loaded only when it is
 * asked for.
 *
 * One side shows memory, for reading only, and tells the other, over a connection that is
 * authenticated and encrypted (channel.h), where it is: a window.  The other side reads it as often
 * as it likes.  With a provider that reads by hardware (verbs, cxi, efa, psm3), or on one node by
 * the kernel (shm), no process of the side that shows is woken by a read.  The provider tcp
 * imitates that: smed_fabric_progress() must run there, in a thread or a polling loop.
 *
 * What the fabric carries is neither encrypted nor proven.  Whoever sees the traffic, or guesses
 * the key of the window (64 random bits, where the provider lets its user choose), can read that
 * memory; nobody can write it.
 *
 * Does NOT: notice by itself that the other side is gone.  A read then stays open; close the
 * reader.
 */
#ifndef SMED_FABRIC_H
#define SMED_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SMED_FABRIC_ADDRESS 128u

/* Where to read; the same bytes on both sides, which are of one byte order. */
struct smed_window {
  char provider[32]; /* as libfabric names it; empty: nothing is shown */
  uint64_t key;
  uint64_t base;
  uint64_t bytes;
  uint32_t address_bytes;
  uint8_t address[SMED_FABRIC_ADDRESS];
  uint32_t reserved;
};

struct smed_fabric; /* one endpoint */

/* Load libfabric, if it is here.  Once, before anything else of this file and before any thread: it
 * sets environment variables. */
void smed_fabric_prepare(void);

/* Show BYTES at MEMORY by PROVIDER at this node's address HOST, and fill in WINDOW.  NULL, and WHY
 * says in a few words why. */
struct smed_fabric *smed_fabric_show(const char *provider, const char *host, void *memory,
                                     size_t bytes, struct smed_window *window, const char **why);

/* Let providers that imitate one-sided reads answer those that came.  Returns at once. */
void smed_fabric_progress(struct smed_fabric *fabric);

/* The same, again and again, until ENDING is not 0: sleeps where the provider can wake it. */
void smed_fabric_serve(struct smed_fabric *fabric, const volatile int *ending);

/* A reader of WINDOW, which is on the node HOST.  NULL, and WHY. */
struct smed_fabric *smed_fabric_look(const struct smed_window *window, const char *host,
                                     const char **why);

/* Begin to read the whole window, unless that was begun.  False: it cannot be read any more. */
bool smed_fabric_begin(struct smed_fabric *fabric);

/* 1: what was begun is done, and the bytes are at smed_fabric_bytes() until the next begin; 0: not
 * yet; -1: it failed. */
int smed_fabric_done(struct smed_fabric *fabric);
const void *smed_fabric_bytes(const struct smed_fabric *fabric);

/* For tests: whether a write into the window is carried out within a second. */
bool smed_fabric_can_write(struct smed_fabric *fabric);

void smed_fabric_close(struct smed_fabric *fabric);

#endif
