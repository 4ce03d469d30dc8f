/*
 * The decision: which storage element a file shall go to.
 *
 * One implementation for everybody who decides: programs under the preload
 * library and libses, the node's ses-agent, the selection service and the
 * simulator.  It is a set of pure functions: no I/O, no clock, no randomness,
 * no allocation, no threads, nothing remembered between two calls.  The same
 * arguments give the same answer.  All of it is async-signal-safe.
 *
 * In four steps:
 *
 *   1. filter    an element that cannot take the file is refused, with a reason
 *   2. predict   what a stream that starts now would get from each of the rest
 *   3. judge     how far that falls short of what the file needs: the distance
 *   4. order     by room, distance, share, streams and last placement: see ses_core_rank()
 *
 * Units: rates are bytes per second, sizes bytes, times seconds.  NaN means
 * that a number is not known.  An array of elements is called a table; a row
 * is a place in it, from 0.
 *
 * Sources.  The kinds of requirement and the idea of a distance are those of
 * the QStorMan paper (Slota et al., Computer Science 13(1), 2012, section 4.1),
 * which publishes no formula; the formulas here are this project's own and are
 * explained, with what each term is worth, in docs/decision.md.
 */
#ifndef SES_CORE_H
#define SES_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "ses/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SES_CORE_STATED 4u /* kinds that are not predicted, at a time */

/* ------------------------------------------------------------------ elements */

/* What an administrator, or the file system, says of an element. */
enum ses_core_state {
  SES_CORE_INACTIVE = 1u << 0,  /* takes nothing */
  SES_CORE_READ_ONLY = 1u << 1, /* mounted so, or no creates */
  SES_CORE_DRAINING = 1u << 2,  /* is being emptied */
  SES_CORE_DEGRADED = 1u << 3,  /* takes files if no other element can */
  SES_CORE_SCARCE = 1u << 4,    /* of a tier that is spared where others do as well */
};

/*
 * One element as it is now: what the site says of it, what the monitor saw, and
 * which of our files are open there.  128 bytes, the same in shared memory, in
 * the service and in the simulator; whoever owns a table writes it, the core
 * only reads it (but for ses_core_observe(), _unseen() and _observe_all()).
 *
 * Streams are programs that move data.  `own` are those of files we placed, each
 * counted while it is open (one that its node has seen not to move does not
 * count), and after its close while a cache writes it out or its node reads it;
 * `foreign` are all the rest, as estimated from the last sample, or seen to write since.
 */
struct ses_core_element {
  double read_rate;     /* what it gives at best to readers; NaN: not known */
  double write_rate;    /* the same for writers */
  double size;          /* bytes it holds; NaN: not known */
  double free;          /* bytes free when last seen; NaN: not known */
  double reserved;      /* bytes that open files are still expected to take of `free` */
  double server_rate;   /* what all elements of its server give together; NaN: no limit known */
  uint64_t last_placed; /* larger for a later moment: the least recently used element comes first */
  float busy; /* part of its time it was in use at the last sample, 0..1; NaN: not seen.  Only
                 `foreign` decides */
  float busy_average; /* the same over the monitor's long window */
  float foreign;      /* foreign streams now */
  float foreign_average;
  float own;            /* own streams now */
  float server_streams; /* own and foreign on all elements of its server, this one among them;
                           counts where `server_rate` is known */
  float stated[SES_CORE_STATED]; /* values of kinds that are not predicted; NaN: not known */
  uint32_t state;                /* enum ses_core_state, ored */
  uint32_t server;               /* a number per server */
  float promised;      /* the largest rate of writing asked for by an own stream; 0: none asks */
  float promised_hard; /* the same of hard requirements */
  float promises;      /* how many own streams ask for a rate of writing */
  float kept_for;      /* the largest rate of writing that anybody requires and that an element of
                          this storage system gives; 0: none is required */
  uint32_t padding[2];
};

/* What the monitor saw of an element in one sample. */
struct ses_core_sample {
  double busy;         /* part of the element's time in use, readers and writers together */
  double busy_average; /* over the long window */
  double queue;        /* mean number of requests in service or waiting; NaN: not visible */
  double own;          /* our streams, averaged over the same window as what was measured */
  double own_average;  /* our streams over the long window */
};

/* -------------------------------------------------------------------- policy */

/* Numbers a site may change; the formulas stay.  ses_core_defaults() fills them in. */
struct ses_core_policy {
  double saturation;        /* utilisation from which an element counts as saturated */
  double saturated_foreign; /* streams on a saturated element whose queue is not visible */
  double unseen_foreign;    /* foreign streams on an element without a usable sample */
  double equal_distance;    /* distances that exceed the best by at most this are equal */
  double equal_share;       /* shares that are lower than the best by at most this part are equal */
  double equal_foreign;     /* numbers of foreign streams that differ by at most this are equal */
  double kept_share;       /* a kept element comes after others that give this part of it or more */
  double harm_weight;      /* of what own streams lose, against what the file lacks itself */
  double room_fraction;    /* of an element's size: below is low space where no size is known */
  double minimum_free;     /* bytes: an element with less is full */
  double stripe_bytes;     /* what a stripe holds at least where the size is known */
  uint32_t max_stripes;    /* of one file */
  uint32_t overrule_hints; /* 1: use the rule where a program asks for a number of stripes */
};

void ses_core_defaults(struct ses_core_policy *policy);

/* ---------------------------------------------------------------- what is needed */

enum ses_core_kind {
  SES_CORE_CURRENT_READ = 1,
  SES_CORE_AVERAGE_READ = 2,
  SES_CORE_CURRENT_WRITE = 3,
  SES_CORE_AVERAGE_WRITE = 4,
  SES_CORE_FREE = 5,
  SES_CORE_STATED_FIRST = 16, /* + n: what the site states in `stated[n]` */
};

/* A value of KIND of at least (AT_MOST: at most) BOUND. */
struct ses_core_requirement {
  uint32_t kind; /* enum ses_core_kind */
  uint16_t hard; /* 1: an element that misses it is refused; 0: it adds to the distance */
  uint16_t at_most;
  double bound;
  double weight; /* > 0 */
};

/* What one file needs. */
struct ses_core_need {
  double bytes; /* expected size; negative: not known */
  double room;  /* bytes below which space is low where BYTES is not known: a high quantile of the
                   sizes of files like it; negative: no file like it is known */
  uint32_t count;
  uint32_t stripes; /* the number a program asks for; 0: none */
  struct ses_core_requirement requirements[SES_REQUIREMENTS_MAX];
};

/*
 * What a program states (COUNT requirements) before what OTHER says, kind by kind, into NEED, which
 * is none of them; all else is OTHER's.  A bound of 0 only takes the place of OTHER's; what has
 * numbers beyond ses/limits.h is left out.  Of more than SES_REQUIREMENTS_MAX, hard ones go before
 * soft ones, then the first ones.  Gives how many of NEED, its first ones, the program stated.
 */
uint32_t ses_core_merge(struct ses_core_need *need, const struct ses_core_requirement *stated,
                        uint32_t count, const struct ses_core_need *other);

/* ------------------------------------------------------------------ prediction */

/* What a stream that starts now would get. */
struct ses_core_offer {
  double read;
  double write;
  double average_read;
  double average_write;
  double free; /* bytes free beyond what is reserved */
};

/*
 * Take a sample: sets busy, busy_average, foreign and foreign_average of ELEMENT.
 *
 *     foreign = max(0, n - L)         foreign_average likewise, over the long window
 *     n = max(q, u)                     where the queue q is visible
 *       = u, or 1.5 when saturated      else
 *
 * L are the own streams over the same window: what the monitor saw of them is not a
 * stranger's, however short the files are.  A queue holds on average at least as
 * many requests as the element is busy (Little's law), so that a depth below u
 * counts as u.
 */
void ses_core_observe(struct ses_core_element *element, const struct ses_core_sample *sample,
                      const struct ses_core_policy *policy);

/* There is no usable sample of ELEMENT: static facts and our own files decide.  SOME_SEEN: there is
 * of other elements; this one must not look idle beside them. */
void ses_core_unseen(struct ses_core_element *element, int some_seen,
                     const struct ses_core_policy *policy);

/* Both for a table: takes SAMPLES[i] of ELEMENTS[i], where busy is NaN for an element that was not
 * seen. */
void ses_core_observe_all(struct ses_core_element *elements, const struct ses_core_sample *samples,
                          size_t count, const struct ses_core_policy *policy);

/*
 * Predict for each direction, with capability C and n streams there besides the newcomer:
 *
 *     n = own + CLAIMS + foreign
 *     a = C / (n + 1)
 *
 * and the same with averages: foreign_average in place of foreign, but the own
 * streams that are there now.  An average is never more than what there is now,
 * since a file meets the load of now first.  Where the server's rate S is known,
 * with m streams on all of its elements, own and foreign:
 *
 *     a <= S / (m + 1)
 *
 * CLAIMS: files placed there that `own` does not hold yet; the server has these and
 * no others.  A query counts those on all elements of the server.
 */
void ses_core_predict(const struct ses_core_element *element, double claims,
                      struct ses_core_offer *offer);

/* --------------------------------------------------------------- filter and judge */

/* Why an element cannot take a file; numbers reach files and sockets and are never changed. */
enum ses_core_refusal {
  SES_CORE_ACCEPTED = 0,
  SES_CORE_REFUSED_EXCLUDED = 1, /* by who asks: another system, unreachable, named */
  SES_CORE_REFUSED_INACTIVE = 2,
  SES_CORE_REFUSED_READ_ONLY = 3,
  SES_CORE_REFUSED_DRAINING = 4,
  SES_CORE_REFUSED_NO_ROOM = 5,
  SES_CORE_REFUSED_REQUIREMENT = 6, /* misses a hard one */
  SES_CORE_REFUSED_DEGRADED = 7,    /* and others are left */
};

/*
 * What was found of one element.
 *
 * With p what is predicted (or stated) and r what is required of one kind:
 *
 *     s = max(0, 1 - p / r)           1 where p is not known
 *       = max(0, 1 - r / p)           where r is the most that is allowed
 *     D = sqrt(sum(w s^2) / sum(w))   the distance, 0..1; 0 without requirements
 *
 * A requirement AT_MOST of a rate asks for no rate; it only adds to the distance.
 *
 * Harm is what own streams there would lose.  With P promises, the largest of R,
 * and the file, a stream gets a; without it b = C / n, or that of the server:
 *
 *     H = harm_weight * P * (s(a) - s(b)),  s(x) = max(0, 1 - x / R)
 *
 * and 100 more where a hard promise would be broken that is kept now.  A claim is a
 * promise of what the need asks for.  H is at most 1000, and 0 where C is not known.
 *
 * Room: a file of known size B needs max(B, minimum_free) + CLAIMS * B free beyond
 * what is reserved; one of unknown size minimum_free, and there is low space below
 * (1 + 0.3 (own + CLAIMS)) * ROOM or, where ROOM is not known, room_fraction * size; in any case
 * below 4 GiB or, if that is less, 0.6 of the largest element's size.  What is not known refuses
 * nobody.
 *
 * The share is the rate that tells two elements of the same distance apart: that
 * of writing, since a file that is created is written first; where reading is
 * asked for, that of writing a byte and reading it back, 1 / (1 / write + 1 / read).  An element
 * whose rate is not known is taken to give one byte per second, 1 / (own + CLAIMS + foreign + 1):
 * it comes after those whose rates are known, and among its like the number of streams decides.
 */
struct ses_core_verdict {
  float distance;
  float share;
  float harm;
  uint8_t refusal;   /* enum ses_core_refusal */
  uint8_t unmet;     /* of SES_CORE_REFUSED_REQUIREMENT: its place in the need */
  uint8_t low_space; /* 1: there may be too little room for a file of unknown size */
};

/* ------------------------------------------------------------------ the choice */

struct ses_core_query;

/* Bytes below which any element is low on space for a file of unknown size, see above. */
double ses_core_ample(const struct ses_core_query *query);

/* A question about a table. */
struct ses_core_query {
  const struct ses_core_need *need;
  const struct ses_core_policy *policy;
  const struct ses_core_element *elements;
  const uint32_t *claims;        /* a number per row, see ses_core_predict(); NULL: none */
  const uint32_t *server_claims; /* those on all elements of the server of each row; NULL: summed
                                    from `claims`, rows times rows where many servers have some */
  const uint64_t *excluded;      /* bit r % 64 of word r / 64: row r is excluded; NULL: none is */
  size_t count;                  /* rows */
  size_t first; /* < count: where the order of the table begins, which goes on at row 0 after the
                   last: processes of one job that begin at rows of their own do not meet */
  /* Compare only so many of the equally near rows, the first in the order of the table, without
   * `last_placed` of idle ones: for a decider to whom placements of others are reported late; 0:
   * all. */
  size_t candidate_limit;
  /* 1: `last_placed` does not count, for one whose place is given by `first`: others rely on it. */
  uint32_t ignores_last_placed;
};

/* Predict every row, with its claims and those of its server: fills OFFERS, one per row. */
void ses_core_predict_all(const struct ses_core_query *query, struct ses_core_offer *offers);

/* Filter and judge every row: fills VERDICTS, one per row, and returns how many are accepted. */
size_t ses_core_judge(const struct ses_core_query *query, struct ses_core_verdict *verdicts);

/*
 * The first MOST accepted rows in order, into ROWS; returns how many there are.
 * VERDICTS are those ses_core_judge() gave for the same query.
 *
 *     1. elements that are not low on space; those that are by the room for each own stream, this
 *        one too
 *     2. distance and harm together: those within equal_distance of the best are equals, and so
 *        on downwards
 *     3. elements that are not scarce, where a rate is asked for and met
 *     4. elements that are not kept, where a rate is asked for and met: those are kept whose
 *        write_rate reaches kept_for, where that is more than the need asks for, if the best of
 *        the others that meet it gives at least kept_share of their share
 *     5. share: those within equal_share of the best that is not kept are equals, and so on
 *        downwards
 *     6. fewer own streams
 *     7. fewer foreign streams, in steps of equal_foreign
 *     8. the last placement longest ago, unless the query ignores it, or has a
 *        candidate_limit and no own stream is there
 *     9. the order of the table, from row `first` on
 */
size_t ses_core_rank(const struct ses_core_query *query, const struct ses_core_verdict *verdicts,
                     uint32_t *rows, size_t most);

/* What of that order puts a row after the one before it; numbers reach files and sockets and are
 * never changed. */
enum ses_core_order {
  SES_CORE_ORDER_FIRST = 0, /* nothing: it comes first, or before that one */
  SES_CORE_ORDER_ROOM = 1,
  SES_CORE_ORDER_DISTANCE = 2,
  SES_CORE_ORDER_COMPARED = 3, /* it is beyond candidate_limit */
  SES_CORE_ORDER_SCARCE = 4,
  SES_CORE_ORDER_KEPT = 5, /* it is kept for those who ask for more */
  SES_CORE_ORDER_SHARE = 6,
  SES_CORE_ORDER_OWN = 7,
  SES_CORE_ORDER_FOREIGN = 8,
  SES_CORE_ORDER_LAST_PLACED = 9,
  SES_CORE_ORDER_TABLE = 10,
  SES_CORE_ORDER_HARM = 11, /* own streams there would lose more; see DISTANCE */
};

enum { SES_CORE_KEYS = 10 }; /* numbers that the order compares */

/* Into BY, for each of the COUNT accepted rows in ROWS, an enum ses_core_order.  Into KEYS, unless
 * it is NULL, the numbers that are compared of each, the smaller first, from ROOM to TABLE: room in
 * bytes for each stream, negative (minus infinity: it is not low on space); steps of distance, of
 * share and of rates from the best; 0 or 1; streams; ms since the epoch; places. */
void ses_core_ordered_by(const struct ses_core_query *query,
                         const struct ses_core_verdict *verdicts, const uint32_t *rows,
                         size_t count, uint8_t *by, double *keys);

/* Both at once, which looks at all rows once for both: BY and KEYS have room for MOST. */
size_t ses_core_rank_by(const struct ses_core_query *query, const struct ses_core_verdict *verdicts,
                        uint32_t *rows, size_t most, uint8_t *by, double *keys);

/* The first row in that order; negative: every element is refused. */
int ses_core_choose(const struct ses_core_query *query, struct ses_core_verdict *verdicts);

/* ------------------------------------------------------------------- stripes */

/* What decided the number of stripes; numbers reach files and sockets and are never changed. */
enum ses_core_cause {
  SES_CORE_BY_NOTHING = 0,  /* there was nothing to decide: one stripe */
  SES_CORE_BY_RATE = 1,     /* so many shares add up to the rates asked for */
  SES_CORE_BY_HINT = 2,     /* the program asks for so many */
  SES_CORE_BY_SIZE = 3,     /* a stripe is to hold stripe_bytes at least */
  SES_CORE_BY_IDLE = 4,     /* half of the idle elements are left to other files */
  SES_CORE_BY_SITE = 5,     /* max_stripes */
  SES_CORE_BY_ELEMENTS = 6, /* there are no more elements, or no more room in ROWS */
};

/*
 * The rows one file is spread over, into ROWS (room for MOST): the first is the
 * choice.  Returns how many, 0 when every element is refused, and in CAUSE what
 * decided it.
 *
 * The smallest number of shares that add up to each rate asked for, in the order
 * of ses_core_rank() but one of each server before the second of any (which has the
 * first as one more stream on its server); without a rate, a file known to be large
 * takes what the caps allow.  Caps: max_stripes, SIZE / stripe_bytes, half of the
 * idle elements; one stripe is always allowed.  An element is idle while a writer
 * would share it with less than half a stream: its share is above its rate / 1.5, or
 * that of its server where the server gives less.  A number the program asks for
 * stands unless the policy says otherwise.  SCRATCH: a word per row.
 */
size_t ses_core_stripe(const struct ses_core_query *query, const struct ses_core_verdict *verdicts,
                       uint32_t *scratch, uint32_t *rows, size_t most, enum ses_core_cause *cause);

#ifdef __cplusplus
}
#define SES_CORE_IS(condition, why) static_assert(condition, why)
#else
#define SES_CORE_IS(condition, why) _Static_assert(condition, why)
#endif
SES_CORE_IS(sizeof(struct ses_core_element) == 128, "two cache lines");
SES_CORE_IS(sizeof(struct ses_core_requirement) == 24, "no padding between requirements");
SES_CORE_IS(sizeof(struct ses_core_verdict) == 16, "no padding between verdicts");
#undef SES_CORE_IS

#endif /* SES_CORE_H */
