// One file of this node, and whether the service counts it already.
//
// The rows that the service sends count the files it has heard of.  Until it has heard of this one,
// the node adds the file to the counts itself; after it has ended here, the node takes it out.
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
  // What the service has heard; the next rows will count it.
  bool reported_opened = false;
  bool reported_idle = false; // when it heard of the file first
  bool reported_ended = false;

  // On so many elements it is a stream.
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
