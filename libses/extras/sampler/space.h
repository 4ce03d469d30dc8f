/*
 * The space of the file systems on the devices.
 *
 * A file system may take for ever to answer, so each is asked by a thread of its own, once a
 * second.  What is older than ten seconds, and what a directory would say on which nothing is
 * mounted, counts as not known.
 */
#ifndef SMED_SPACE_H
#define SMED_SPACE_H

#include "table.h"

/* The device NUMBER has its file system at PATH, which must last. */
void smed_space_at(uint32_t number, const char *path);

/* Begin to ask for the space of those of COUNT devices.  False, with why on standard error. */
bool smed_space_start(uint32_t count);

/* Fill in the space of the device NUMBER, for a sample of NOW_NS. */
void smed_space_of(uint32_t number, uint64_t now_ns, struct smed_sample *sample);

#endif
