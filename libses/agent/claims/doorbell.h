// Wakes the agent's loop when a program makes a claim while the loop sleeps (ses/claims.h).
//
// A thread waits (futex) on a word of the candidate table.  The word is 1 while the doorbell is
// armed: a program that makes a claim then wakes the thread by one futex call.  Programs cannot
// write the word, so one that calls just before the thread waits wakes nobody.  Hence the loop must
// look for claims from time to time as well.
#ifndef SES_AGENT_DOORBELL_H
#define SES_AGENT_DOORBELL_H

#include <atomic>
#include <cstdint>
#include <thread>

#include "node/unique_fd.h"

namespace ses::agent {

class Doorbell {
public:
  // WORD outlives this.
  explicit Doorbell(uint32_t &word);
  ~Doorbell();

  // Readable after a program woke the agent, until it is read.
  [[nodiscard]] int descriptor() const { return woken_.get(); }
  // The next program that makes a claim wakes the loop, once.
  void arm();
  [[nodiscard]] bool is_armed() const;
  void disarm();
  void stop();

private:
  void work();

  uint32_t &word_;
  const UniqueFd woken_;         // eventfd
  std::atomic<uint32_t> rounds_; // grows with each arm(), and at the end
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

} // namespace ses::agent

#endif // SES_AGENT_DOORBELL_H
