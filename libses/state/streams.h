/*
 * The streams on each element of a site: how many there are now, what they hold and ask for, and
 * how many there were on average over what the monitor measured.
 *
 * The service keeps its hot state here, beside the decision core that reads it.  Elements have
 * numbers that stay; where the site is described anew, its rows change and the numbers do not.  A
 * file that is spread over several elements is one stream on each of them.  Rows on one device
 * share its load: each carries the streams of all.
 *
 * Nothing is locked here: calls on one state come one after the other, from any thread.  None
 * makes a system call but for memory.  begin, end and placed cost the same however many streams
 * there are: below a microsecond for a file on one element that shares its device with none.
 * average looks at all that began or ended recently, 20 ns each.
 *
 * Without memory, what a call was to note is left out: counts of now stay right, averages lack it.
 * Not here: who is counted, leases, nodes (the ledger of the service).
 */
#ifndef SES_STATE_STREAMS_H
#define SES_STATE_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SES_NO_ROW UINT32_MAX

struct ses_streams;

/* Columns with a place for each row, which belong to the caller and stay until the next bind. */
struct ses_streams_counts {
  double *open_now;      /* streams */
  double *reserved;      /* bytes that they are still to write, of all in one room */
  double *last_placed;   /* seconds since the epoch; of the row alone */
  double *promises;      /* how many ask for a rate of writing */
  double *promised;      /* the largest of these rates, bytes per second */
  double *promised_hard; /* and of those that are hard */
};

/* NULL: no memory. */
struct ses_streams *ses_streams_make(void);
void ses_streams_free(struct ses_streams *streams);

/*
 * Count along ROWS rows from now on, in COUNTS, which are all 0.  DEVICE and ROOM are for each row
 * the first one on its device, and in its room; ROW_OF has the row of each of ELEMENTS numbers, or
 * SES_NO_ROW.  What was counted is to be counted again; what was noted as recent or placed stays.
 * Copies what it is given but COUNTS.  Returns 0, or -1 without memory: nothing is counted then.
 */
int ses_streams_bind(struct ses_streams *streams, size_t rows, const uint32_t *device,
                     const uint32_t *room, size_t elements, const uint32_t *row_of,
                     const struct ses_streams_counts *counts);

/* Add so many streams to each of COUNT elements, and BYTES, spread evenly, to what they hold. */
void ses_streams_count(struct ses_streams *streams, const uint32_t *elements, size_t count,
                       double number, double bytes);

/* Add (NUMBER is 1) or take (-1) a stream that asks for RATE of writing on each of COUNT elements,
 * HARD of it hard.  What is taken was added. */
void ses_streams_promise(struct ses_streams *streams, const uint32_t *elements, size_t count,
                         double rate, double hard, int number);

/* Note of stream ID when it began and ended (infinite: it goes on); again: the last call holds. */
void ses_streams_note(struct ses_streams *streams, int64_t id, const uint32_t *elements,
                      size_t count, double began, double ended);

/* Note that COUNT elements were used at a time. */
void ses_streams_placed(struct ses_streams *streams, const uint32_t *elements, size_t count,
                        double at);

/* Forget what was noted of streams that began, or ended, before HORIZON, the oldest first. */
void ses_streams_forget(struct ses_streams *streams, double horizon);

/*
 * The streams of each row as the monitor averages what it measures, into AVERAGED: to a sample,
 * what happened x seconds before it weighs exp(-x / WINDOW).  SAMPLED_AT is when each was taken
 * last, of a device's first row that of all; NaN: never.
 */
void ses_streams_average(const struct ses_streams *streams, const double *sampled_at, double window,
                         double *averaged);

/* The rows whose counts changed since the last call, into ROWS, which has a place for each row;
 * returns how many. */
size_t ses_streams_changed(struct ses_streams *streams, uint32_t *rows);

/* How many streams are noted. */
size_t ses_streams_noted(const struct ses_streams *streams);

#ifdef __cplusplus
}
#endif

#endif /* SES_STATE_STREAMS_H */
