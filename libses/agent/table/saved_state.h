// What the service sent last, kept on disk for an agent that starts while no service answers: its
// storage systems, the tables of candidates, and what users' files need.
//
// Any thread.  What is kept there is a help, never needed: a file that cannot be read or written is
// as good as none.
#ifndef SES_AGENT_SAVED_STATE_H
#define SES_AGENT_SAVED_STATE_H

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "service/needs.h"
#include "table/table_answer.h"

namespace ses::agent {

struct SavedNeeds {
  std::map<uid_t, std::shared_ptr<const UserNeeds>> users;
  std::shared_ptr<const UserNeeds> site; // null: not known
};

class SavedState {
public:
  // Reads DIRECTORY/agent.json; the directory is made when missing.
  explicit SavedState(std::string directory);
  [[nodiscard]] const std::string &directory() const { return directory_; }

  // The answer to GET /v1/storage-systems; empty: not known.
  [[nodiscard]] std::string systems() const;
  // Whole tables, those that make sense.
  [[nodiscard]] std::vector<TableAnswer> tables() const;
  [[nodiscard]] SavedNeeds needs() const;

  void set_systems(const std::string &text);
  // One of "tables" of an announcement's answer.
  void set_table(nlohmann::json table);
  // Those of "needs" that are about UID; none: about the site.
  void set_needs(std::optional<uid_t> uid, const nlohmann::json &entries);
  // Writes to disk what changed; touches a file system.  LEAST: not when that was done so recently.
  void save(std::chrono::seconds least = std::chrono::seconds(0));

private:
  const std::string directory_;
  mutable std::mutex mutex_;
  std::string systems_;
  std::map<std::string, nlohmann::json> tables_; // by system
  std::map<std::string, nlohmann::json> needs_;  // by uid; "": of the site
  bool changed_ = false, logged_not_saved_ = false;
  std::chrono::steady_clock::time_point saved_at_{};
};

} // namespace ses::agent

#endif // SES_AGENT_SAVED_STATE_H
