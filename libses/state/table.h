/*
 * The table that the decision core reads (`ses/core.h`): its counts, and its loads as nodes get
 * them.
 *
 * Pure, without locks; what is passed in belongs to the caller.
 */
#ifndef SES_STATE_TABLE_H
#define SES_STATE_TABLE_H

#include "streams.h"

#include <cstdint>
#include <ses/core.h>
#include <span>
#include <string>

namespace ses::state {

/* Take what is counted of a row. */
void take_counts(ses_core_element &element, const Counts &counts, std::size_t row);

/*
 * Rows of a node's table as JSON lists, without brackets around all: the place in that table, the
 * numbers of `LOADS` in decision/rows.py, the age of the sample, state, last placement, and
 * promises.  ROWS are those of the node; those are written that CHANGED after the version SINCE.
 * An unknown number is null.  0.5 us for each.
 */
std::string loads_text(std::span<const ses_core_element> elements,
                       std::span<const double> sampled_at, std::span<const std::int64_t> changed,
                       std::span<const std::int64_t> rows, std::int64_t since, double now);

} // namespace ses::state

#endif /* SES_STATE_TABLE_H */
