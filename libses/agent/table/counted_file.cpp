#include "table/counted_file.h"

#include <optional>

namespace ses::agent {

void CountedFile::count(Candidates &candidates, bool in) const {
  for (const uint8_t row_then : rows) {
    const auto row = facts == candidates.facts()
                         ? std::optional<unsigned>(row_then)
                         : candidates.facts()->row_of(facts->rows[row_then].element);
    if (row) {
      count_row(candidates, *row, in);
    }
  }
}

void CountedFile::count_row(Candidates &candidates, unsigned row, bool in) const {
  const double part = bytes > 0 ? bytes / static_cast<double>(rows.size()) : bytes;
  const bool is_stream = streams() > 0;
  if (is_stream && !counted_by_service) {
    if (!in) {
      candidates.remove(row, part, promises);
    } else if (was_idle) { // a file that goes on is no placement
      candidates.put_back(row, part, promises);
    } else {
      candidates.add(row, part, promises);
    }
  } else if (!is_stream && counted_by_service) {
    in ? candidates.remove(row, part, promises) : candidates.put_back(row, part, promises);
  }
}

} // namespace ses::agent
