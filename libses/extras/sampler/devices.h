/*
 * The counters of this node's block devices, read for one turn of the sampler.
 *
 * Where the node has few devices beside those that are watched, all are read at once from
 * /proc/diskstats, which takes a third less time than a stat file each.  No allocation.
 */
#ifndef SMED_DEVICES_H
#define SMED_DEVICES_H

#include "table.h"

/* Watch COUNT devices: names below /sys/class/block, or paths of stat files; they must last.  NULL,
 * or the file that cannot be opened, and errno. */
const char *smed_devices_open(char *const *devices, uint32_t count);

/* Write a sample of each to its record; one that is gone is left as it is, and grows old until it
 * is back. */
void smed_devices_sample(struct smed_record *records);

#endif
