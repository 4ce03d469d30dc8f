/*
 * The streams on each element of a site: how many there are now, what they hold and ask for, and
 * how many there were on average over what the monitor measured.
 *
 * The service keeps its hot state here, beside the decision core that reads it.  Elements have
 * numbers that stay; where the site is described anew, its rows change and the numbers do not.  A
 * file that is spread over several elements is one stream on each of them.  Rows on one device
 * share its load: each carries the streams of all.
 *
 * Nothing is locked here: calls on one counter come one after the other, from any thread.  None
 * makes a system call but for memory.  begin, end and placed cost the same however many streams
 * there are: below a microsecond for a file on one element that shares its device with none.
 * observe looks at all that began or ended recently, 20 ns each.
 *
 * Not here: who is counted, leases, nodes (the ledger of the service).
 */
#ifndef SES_STATE_STREAMS_H
#define SES_STATE_STREAMS_H

#include "records.h"

#include <deque>
#include <span>

namespace ses::state {

/* Columns with a place for each row, which belong to the caller and stay until the next bind. */
struct Counts {
  double *open_now;      /* streams */
  double *reserved;      /* bytes that they are still to write, of all in one room */
  double *last_placed;   /* seconds since the epoch; of the row alone */
  double *promises;      /* how many ask for a rate of writing */
  double *promised;      /* the largest of these rates, bytes per second */
  double *promised_hard; /* and of those that are hard */
};

class Counter {
public:
  /*
   * Count along rows from now on, in COUNTS, which are all 0.  DEVICE and ROOM are for each row the
   * first one on its device, and in its room; ELEMENTS are what the rows are about, by name.  What
   * was counted is to be counted again; what was noted as recent or placed stays.
   */
  void bind(std::span<const std::uint32_t> device, std::span<const std::uint32_t> room,
            const std::vector<std::string> &elements, const Counts &counts);
  /* Count a stream and the bytes it holds, and note when it began; again: the last call holds. */
  void begin(Id id, std::span<const std::uint32_t> elements, double began, const Number &bytes);
  void end(Id id, std::span<const std::uint32_t> elements, double began, const Number &bytes,
           double now);
  /* Add so many streams to each element, and BYTES, spread evenly, to what they hold. */
  void count(std::span<const std::uint32_t> elements, double number, double bytes);
  /* Add (NUMBER is 1) or take (-1) a stream that asks for RATE of writing on all elements together,
   * HARD of it hard.  What is taken was added. */
  void promise(std::span<const std::uint32_t> elements, double rate, double hard, int number);
  /* Note that elements were used at a time. */
  void placed(std::span<const std::uint32_t> elements, double at);
  /*
   * The streams of each row as the monitor averages what it measures, into AVERAGED: to a sample,
   * what happened x seconds before it weighs exp(-x / WINDOW).  SAMPLED_AT is when each was taken
   * last, of a device's first row that of all; NaN: never.  Forgets what began, or ended, before
   * HORIZON, the oldest first, and which rows changed.
   */
  void observe(double horizon, const double *sampled_at, double window, double *averaged);
  /* The rows whose counts changed since the last call. */
  std::vector<std::uint32_t> take_changed();
  std::size_t rows() const { return _rows.size(); }

private:
  /* Streams of one row that ask for the same rates. */
  struct Promise {
    double rate, hard;
    std::int64_t number;
  };
  struct Row {
    std::uint32_t device, room;
    std::uint32_t next; /* on its device; the last is followed by the first */
    bool changed = false;
    std::vector<Promise> promises;
  };
  /* An element a stream is on; of one that is noted anew elsewhere there is none. */
  struct Place {
    Id id;
    double began, ended;
    std::uint32_t element;
  };

  std::uint32_t row_of(std::uint32_t element) const;
  template <class Each> void on_device(std::uint32_t element, Each each);
  void mark(std::uint32_t row);
  void note(Id id, std::span<const std::uint32_t> elements, double began, double ended);
  void forget(double horizon);

  Counts _counts{};
  std::vector<Row> _rows;
  std::vector<std::uint32_t> _changed;
  std::vector<std::uint32_t> _row_of;               /* by element */
  std::vector<double> _placed;                      /* by element, whether or not it has a row */
  std::deque<Place> _recent;                        /* in the order in which streams began */
  std::uint64_t _first = 0;                         /* number of the first of them */
  std::unordered_map<Id, std::uint64_t> _number_of; /* of the first place of each stream */
};

} // namespace ses::state

#endif /* SES_STATE_STREAMS_H */
