// The foreign load this node sees by itself: bytes that go onto each element, by its free space.
//
// Pure.  What was written between two looks, as a part of what the element gives, less the most
// own streams that were there at a time, is foreign load.  Reading cannot be seen so: it takes
// nothing away from what the monitor reports.  A look counts for five seconds.
#ifndef SES_AGENT_SEEN_WRITES_H
#define SES_AGENT_SEEN_WRITES_H

#include <chrono>
#include <optional>
#include <vector>

namespace ses::agent {

class SeenWrites {
public:
  using Time = std::chrono::steady_clock::time_point;

  // There are ROWS elements, not looked at yet.
  void reset(size_t rows) { rows_.assign(rows, {}); }
  // There are STREAMS own streams on ROW now.
  void note_own(unsigned row, double streams);
  // USED bytes of ROW, which writes RATE bytes per second at best (NaN: not known), were in use at
  // AT, unless that is no later than the last look.  True when that changed how many foreign
  // streams are seen.
  bool look(unsigned row, double used, double rate, Time at);
  // Foreign streams that were seen on ROW, 0..1.
  [[nodiscard]] double foreign(unsigned row, Time now) const;

private:
  struct Row {
    std::optional<Time> at; // of the last look
    double used = 0;
    double own = 0, largest_own = 0; // now, and since the last look
    double foreign = 0;
  };
  std::vector<Row> rows_;
};

} // namespace ses::agent

#endif // SES_AGENT_SEEN_WRITES_H
