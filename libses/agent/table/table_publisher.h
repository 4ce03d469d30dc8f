// Writes the candidate table (ses/table.h).
//
// Used by one thread, beside any number of programs that read.  Knows how the bytes lie and in
// which order they are written, not where the numbers come from.
#ifndef SES_AGENT_TABLE_PUBLISHER_H
#define SES_AGENT_TABLE_PUBLISHER_H

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "ses/table.h"

namespace ses::agent {

class TablePublisher {
public:
  struct System {
    uint32_t backend = SES_BACKEND_NONE;
    std::vector<ses_core_element> elements; // at most SES_TABLE_ELEMENTS, as the next
    std::vector<ses_table_place> places;
    ses_core_policy policy{};
    uint64_t excluded = 0;
    uint32_t candidate_limit = 0;
    uint32_t total = 0;
    std::vector<uint32_t> numbers; // of the elements
    uint64_t sent_ms = 0;
  };
  struct Mount {
    dev_t device = 0;
    unsigned system = 0;
    std::string mount_point;
  };
  struct User {
    uid_t uid = 0;
    int segment = -1;
    uint64_t instance = 0;
  };

  // Programs believe nothing in TABLE before the first beat().
  TablePublisher(ses_table &table, uint64_t socket_hash, bool was_left);

  // Other numbers for SYSTEM; returns its epoch, that is another one from now on.
  uint64_t write(unsigned system, const System &what);
  [[nodiscard]] uint64_t epoch(unsigned system) const { return table_.systems[system].epoch; }
  // Fields that change singly, each in one store.
  void update(unsigned system, unsigned row, const ses_core_element &element);
  void set_excluded(unsigned system, uint64_t rows);
  void set_streams(unsigned system, uint32_t streams);
  void set_candidate_limit(unsigned system, uint32_t candidate_limit);
  // The list of devices, in place of the one before.
  void set_mounts(const std::vector<Mount> &mounts);
  // The segment of a user, in place of any before; false when there are too many users.
  bool set_user(const User &user);
  void remove_user(uid_t uid);
  // Those in the table, for an agent that takes it over.
  [[nodiscard]] std::vector<User> users() const;

  void beat(uint64_t now_ms);
  void retire();
  [[nodiscard]] uint32_t &asleep() { return table_.head.asleep; }

private:
  [[nodiscard]] std::optional<unsigned> entry_of(uid_t uid) const;

  ses_table &table_;
};

} // namespace ses::agent

#endif // SES_AGENT_TABLE_PUBLISHER_H
