// One file of this node, and whether the service counts it already.
//
// The rows that the service sends count the files reported to it.  Until this one has been
// reported, the node adds it to the counts itself; after it has ended here, the node takes it out.
//
// Pure: no I/O, threads or clock.
#ifndef SES_AGENT_COUNTED_FILE_H
#define SES_AGENT_COUNTED_FILE_H

#include <cstdint>
#include <memory>
#include <vector>

#include "table/candidates.h"

namespace ses::agent {

struct CountedFile {
  unsigned system = 0;
  std::shared_ptr<const TableFacts> facts;
  std::vector<uint8_t> rows; // of those facts
  double bytes = -1;
  Promises promises; // on each row
  bool ended = false;
  bool idle = false;
  bool was_idle = false;           // at any time
  bool counted_by_service = false; // as a stream, in the rows that came last
  // What was reported to the service; the next rows will count it.
  bool reported_opened = false;
  bool reported_idle = false; // in the first report
  bool reported_ended = false;

  // The number of elements on which it is a stream.
  [[nodiscard]] int streams() const { return ended || idle ? 0 : static_cast<int>(rows.size()); }
  // Adds to the counts of its elements what the rows of the service lack, or takes it out again.
  void count(Candidates &candidates, bool in) const;
  // The next rows have come.
  void take_up_rows() {
    counted_by_service = reported_opened ? !reported_idle : counted_by_service;
  }

private:
  void count_row(Candidates &candidates, unsigned row, bool in) const;
};

} // namespace ses::agent

#endif // SES_AGENT_COUNTED_FILE_H
