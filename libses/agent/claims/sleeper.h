// Wakes the loop when a program makes a claim while the agent sleeps (ses/claims.h).
//
// A thread that waits on a word of the candidate table: the word is 1 while programs have to wake
// the agent, by one futex call.  They cannot write the word, so one that looks just before the
// thread waits wakes nobody; whoever sleeps has to look again before long.
#ifndef SES_AGENT_SLEEPER_H
#define SES_AGENT_SLEEPER_H

#include <atomic>
#include <cstdint>
#include <thread>

#include "node/unique_fd.h"

namespace ses::agent {

class Sleeper {
public:
  // WORD outlives this.
  explicit Sleeper(uint32_t &word);
  ~Sleeper();

  // Readable after a program woke the agent, until it is read.
  [[nodiscard]] int descriptor() const { return woken_.get(); }
  // Lets programs wake the agent from now on, once.
  void sleep();
  [[nodiscard]] bool is_asleep() const;
  void wake_up();
  void stop();

private:
  void work();

  uint32_t &word_;
  const UniqueFd woken_;         // eventfd
  std::atomic<uint32_t> rounds_; // grows with each sleep(), and at the end
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

} // namespace ses::agent

#endif // SES_AGENT_SLEEPER_H
