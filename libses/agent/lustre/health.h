// Which OSTs and pools of the Lustre systems on this node can take files now.
//
// A create on an OST whose server is down can hang beyond any signal, so such OSTs must be known
// before a program is sent there.  A thread looks at every system once a second, at what the client
// shows; where it does not show the state of connections (to who is not root, from 2.17 on),
// servers are asked, seldom and only about OSTs in use (questions.h).  The questions below are for
// any thread and never wait.  An OST of which nothing can be seen counts as usable, a pool does
// not; nor does anything of a client that does not answer.
#ifndef SES_AGENT_LUSTRE_HEALTH_H
#define SES_AGENT_LUSTRE_HEALTH_H

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "lustre/questions.h"
#include "lustre/targets.h"
#include "node/repeating_thread.h"
#include "protocol/wire.h"
#include "service/messages.h"

namespace ses::agent {

class LustreHealth {
public:
  struct Sources {
    std::function<std::vector<StorageSystem>()> systems; // those of Lustre
    std::function<std::string()> mountinfo;              // the text of /proc/self/mountinfo
    std::string root = "/";                              // of the files that are read
    std::string file_system = ""; // the name of all of them; empty: by mountinfo
    std::function<std::string(const std::string &mount_point, uint16_t ost, std::atomic<bool> &)>
        ask = ask_lustre_target;
    LustreQuestions::Pace pace{};
    std::chrono::milliseconds look_every{1'000};
  };
  // For this machine.  With SES_LUSTRE_STANDIN=/DIRECTORY (tests only) the parameters below
  // DIRECTORY, of a file system "lustre", for whatever is mounted.
  [[nodiscard]] static Sources of_this_node(std::function<std::vector<StorageSystem>()> systems,
                                            std::function<std::string()> mountinfo);

  explicit LustreHealth(Sources sources) : sources_(std::move(sources)) {}

  void start() { thread_.start(); }
  void stop() { thread_.stop(); }

  // SYSTEM has been looked at once: what is not reported as in trouble is not.
  [[nodiscard]] bool has_looked_at(const std::string &system) const;
  // There may be other systems than before.
  void look_soon() { thread_.wake(); }
  // Files went to these OSTs.
  void use(const std::string &system, const std::vector<uint16_t> &osts);
  // ON_CHANGE is called, on the thread, when some OST or pool can no longer, or again, take files.
  void set_on_change(std::function<void()> on_change) { on_change_ = std::move(on_change); }

  // Empty, or why this placement must not be used now: its OST cannot take files, or its pool does
  // not exist or has no member (which Lustre would take for the whole file system).
  [[nodiscard]] std::string trouble_of(const std::string &system, const Placement &placement) const;
  // Names the smallest pool that holds all OSTs of a list, for when the list is refused.
  void add_pool(const std::string &system, Placement &placement) const;
  // Makes of a list of OSTs what a site wants: for POOL the pool that has just these members, where
  // there is one; for OFFSET a hint.  With a list and a hint stands the smallest pool that holds
  // them, as above.  With a pool stand its members.
  void write_as(ses_lustre_form form, const std::string &system, Placement &placement) const;

private:
  [[nodiscard]] std::chrono::nanoseconds look();
  void ask_servers(const std::string &system, const std::string &mount_point,
                   LustreTargets &targets);

  const Sources sources_;
  std::function<void()> on_change_;
  mutable std::mutex mutex_;                         // guards what follows
  std::set<std::string> looked_at_;                  // systems, as of the last look
  std::map<std::string, LustreTargets> targets_;     // by system
  std::map<std::string, std::set<uint16_t>> used_;   // since the last look; by system
  std::map<std::string, LustreQuestions> questions_; // of the thread alone; by system
  RepeatingThread thread_{[this] { return look(); }};
};

} // namespace ses::agent

#endif // SES_AGENT_LUSTRE_HEALTH_H
