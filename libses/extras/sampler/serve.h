/*
 * How smed-sampler gives its table to other nodes: a thread that takes connections, one thread for
 * each connection, and the window for one-sided reads (fabric.h), which a third thread serves where
 * the provider needs one and no polling loop does it.
 *
 * At most SMED_SERVE_MAX connections have shown the key.  As many others may be about to; one more
 * takes the place of the oldest from the host that has most of them, which is cut off.
 */
#ifndef SMED_SERVE_H
#define SMED_SERVE_H

#include "fabric.h"
#include "table.h"

#define SMED_SERVE_MAX 64

/* Serve TABLE (COUNT records) at ADDRESS, and by PROVIDER unless that is NULL.  FABRIC becomes the
 * endpoint, for smed_fabric_progress(), where POLLED; else a thread is started for it.  False, with
 * why on standard error. */
bool smed_serve(struct smed_table *table, uint32_t count, const char *address, const char *provider,
                bool polled, struct smed_fabric **fabric);

/* Nobody can read one-sidedly any more. */
void smed_serve_end(struct smed_fabric *fabric, bool polled);

#endif
