/*
 * What limits a streaming program on a node, and at what rate.
 *
 * The model of READ2 (Cozette, Randriamaro, Utard: INRIA RR-4401, 2002): each
 * byte that a program reads from or writes to its disk crosses the buses of the
 * node so and so often.  The peak rate D is the least of what the resources
 * allow, and the resource that allows least binds.
 *
 *     ses_stream_node node = {.disk = 2e9, .io_bus = NAN, .memory_bus = NAN,
 *                             .processor = 8, .link = 12.5e9, .copy_rate = NAN};
 *     ses_stream_profile profile = {.gamma = 1 / 150e6};   // 150 MB of work a second and core
 *     ses_stream_path path = {.disk = {1, 0, 0}, .link = {0, 1, 1}};
 *     ses_stream_limits limits;
 *     if (ses_stream_bound(&node, &profile, &path, &limits) == 0)
 *       printf("%.0f MB/s, bound by %d\n", limits.rate / 1e6, limits.binding);
 *
 * The crossings of the paths of today's kernels are in docs/streaming.md.
 *
 * Rates are bytes per second.  Not modelled: latency, hits of the page cache,
 * several programs on one node.  A pure function: async-signal-safe, any thread.
 *
 * ABI: as ses/ses.h; ses_stream_limits has room to grow in `reserved`.
 */
#ifndef SES_STREAM_H
#define SES_STREAM_H

#include <stdint.h>

#include "ses/ses.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a stream uses on a node; the numbers never change. */
typedef enum ses_stream_resource {
  SES_STREAM_DISK = 0,
  SES_STREAM_IO_BUS = 1,
  SES_STREAM_MEMORY_BUS = 2,
  SES_STREAM_PROCESSOR = 3,
  SES_STREAM_LINK = 4
} ses_stream_resource;

#define SES_STREAM_RESOURCES 5

/*
 * What a node has; NaN or infinite: not known, so that it never binds.
 *
 * `processor` is work per second in the unit of the profile's gamma: instructions,
 * or seconds of processor time, of which a node of 8 cores has 8 in a second.
 * `copy_rate` are the bytes per second that all its cores copy in memory.
 */
typedef struct ses_stream_node {
  double disk;
  double io_bus;
  double memory_bus;
  double processor;
  double link;
  double copy_rate;
} ses_stream_node;

/* What a program does for each byte of its disk stream (RR-4401, section 3).  None is negative. */
typedef struct ses_stream_profile {
  double alpha;  /* bytes of memory that the processor reads or writes */
  double beta_l; /* bytes sent or received that the computation uses */
  double beta_d; /* bytes that only pass by: read here for another node */
  double gamma;  /* work of the processor */
  int32_t
      in_turn; /* 1: it waits for disk, processor and link one after the other; 0: all at once */
} ses_stream_profile;

/* How often bytes cross a bus: each of the stream, each of beta_l and each of beta_d in addition.
 */
typedef struct ses_stream_crossings {
  double stream;
  double local;
  double distant;
} ses_stream_crossings;

/* One way of bytes between storage, memory and network.  `copies`: copies by the processor. */
typedef struct ses_stream_path {
  ses_stream_crossings disk;
  ses_stream_crossings io_bus;
  ses_stream_crossings memory_bus;
  ses_stream_crossings copies;
  ses_stream_crossings link;
} ses_stream_path;

/* What was found; arrays by ses_stream_resource, infinite where a resource is no limit. */
typedef struct ses_stream_limits {
  double rate;                          /* D: bytes per second */
  double allowed[SES_STREAM_RESOURCES]; /* D if that resource were the only one */
  double needed[SES_STREAM_RESOURCES];  /* what it carries for each byte of the stream; of the
                                           processor  gamma, without copies */
  int32_t binding; /* ses_stream_resource: the first of those that allow least */
  int32_t reserved[15];
} ses_stream_limits;

/*
 * Find what limits a stream (RR-4401, section 4, Table 1), with c the crossings of a bus:
 *
 *     needed = c.stream + c.local * beta_l + c.distant * beta_d     (+ alpha on the memory bus)
 *     seconds = needed / what the node has
 *     seconds of the processor = gamma / processor + copies / copy_rate
 *     rate = 1 / max(seconds)
 *          = 1 / max(seconds, disk + processor + link)              where one waits for the other
 *
 * A resource of rate 0 allows 0.  Returns 0, or -1 when a number of the profile is negative or
 * NaN; LIMITS is all zero then.
 */
SES_API int ses_stream_bound(const ses_stream_node *node, const ses_stream_profile *profile,
                             const ses_stream_path *path, ses_stream_limits *limits);

#ifdef __cplusplus
}
#endif

#endif /* SES_STREAM_H */
