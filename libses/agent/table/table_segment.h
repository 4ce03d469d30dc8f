// The shared memory segment of the candidate table (ses/table.h): made, or taken over from an agent
// that was here before.
//
// A segment that somebody else made under the same key is removed by root; another user's agent has
// to leave it, and cannot publish anything.
#ifndef SES_AGENT_TABLE_SEGMENT_H
#define SES_AGENT_TABLE_SEGMENT_H

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "ses/table.h"

namespace ses::agent {

class TableSegment {
public:
  // Null when there is none to be had, with the cause and the next step in WHY.
  [[nodiscard]] static std::unique_ptr<TableSegment> open(uint64_t socket_hash, std::string &why);
  // Memory of this process, which no program finds: what is in it can still be asked for over the
  // socket.  Null when there is none.
  [[nodiscard]] static std::unique_ptr<TableSegment> hidden();
  // Detaches; the segment itself stays.
  ~TableSegment();
  TableSegment(const TableSegment &) = delete;
  TableSegment &operator=(const TableSegment &) = delete;

  [[nodiscard]] ses_table &table() const { return *table_; }
  // An earlier agent filled it.
  [[nodiscard]] bool was_left() const { return was_left_; }
  // It goes with the last program that has it.
  void remove();
  // Shows programs a hidden table, at the address that it has: there may be a segment to be had by
  // NOW.  Tries every ten seconds; true when programs see it from now on.  On the thread that
  // writes the table.
  bool publish(uint64_t socket_hash, std::chrono::steady_clock::time_point now);

private:
  TableSegment(int id, ses_table *table, bool was_left)
      : id_(id), table_(table), was_left_(was_left) {}

  int id_; // negative: hidden
  ses_table *const table_;
  const bool was_left_;
  std::chrono::steady_clock::time_point tried_at_{};
};

} // namespace ses::agent

#endif // SES_AGENT_TABLE_SEGMENT_H
