// Names of users, by uid.
#ifndef SES_AGENT_IDENTITY_H
#define SES_AGENT_IDENTITY_H

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace ses::agent {

// Any thread.  A directory service may take minutes to answer: it is asked on threads that may be
// lost, again after a minute, and until it answers its last answer holds.
class UserNames {
public:
  // The user's name, "uid-N" when there never was such a user; none: not known yet.  Waits so long
  // for a first answer, but not while another one is waited for.
  [[nodiscard]] std::optional<std::string>
  name_of(uid_t uid, std::chrono::milliseconds timeout = std::chrono::milliseconds(0));

private:
  struct Known {
    std::string name;
    std::chrono::steady_clock::time_point until;
  };
  struct Cache {
    std::mutex mutex;
    std::condition_variable answered;
    std::unordered_map<uid_t, Known> known;
    std::set<uid_t> asked; // and not answered
  };
  static void ask(Cache &cache, uid_t uid);

  const std::shared_ptr<Cache> cache_ = std::make_shared<Cache>(); // the threads' as well
};

// The uid of a name that UserNames gave, also of "uid-N"; none when there is no such user, or the
// name service does not answer soon.
[[nodiscard]] std::optional<uid_t> uid_of(const std::string &name);

// Seconds since the epoch, for messages to other programs.  This clock may be set forward or back:
// durations are measured by Clock.
[[nodiscard]] double wall_clock();

} // namespace ses::agent

#endif // SES_AGENT_IDENTITY_H
