// The shared memory segment of one user's plan (ses/plan.h): made, taken over from an agent that
// was here before, given up.
//
// Used by one thread.  Knows the head of the plan and nothing of what is in it.  A segment that
// somebody else made under the same key is left alone: then this user has no plan, and programs
// ask over the socket.
#ifndef SES_AGENT_PLAN_SEGMENT_H
#define SES_AGENT_PLAN_SEGMENT_H

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ses/plan.h"

namespace ses::agent {

class PlanSegment {
public:
  // The segment of UID at the agent whose socket path has this hash: the one an earlier agent of
  // the same user left, else another.  INSTANCE tells this agent from others.  Null when it
  // cannot be had, with the cause and the next step in WHY.
  [[nodiscard]] static std::unique_ptr<PlanSegment> open(uint64_t socket_hash, uid_t uid,
                                                         uint64_t instance, std::string &why);
  // The users whose segments an earlier agent left.
  [[nodiscard]] static std::vector<uid_t> left_behind(uint64_t socket_hash);
  // Detaches; the segment itself stays.
  ~PlanSegment();
  PlanSegment(const PlanSegment &) = delete;
  PlanSegment &operator=(const PlanSegment &) = delete;

  [[nodiscard]] ses_plan &plan() const { return *plan_; }
  // An earlier agent filled it: tickets and reports may be in it.
  [[nodiscard]] bool was_left() const { return was_left_; }
  // Somebody removed it: no program finds it any more.
  [[nodiscard]] bool is_removed() const;
  // The sign of life; 0 says that there is none.
  void beat(uint64_t now_ms);
  // Programs look for another one from now on, and the segment goes with the last that has it.
  void retire();

private:
  PlanSegment(int id, ses_plan *plan, bool was_left) : id_(id), plan_(plan), was_left_(was_left) {}
  void write_head(uint64_t socket_hash, uid_t uid, uint64_t instance);

  const int id_;
  ses_plan *const plan_;
  const bool was_left_;
};

} // namespace ses::agent

#endif // SES_AGENT_PLAN_SEGMENT_H
