#include "claims/claims_segment.h"

#include <sys/shm.h>
#include <unistd.h>

#include <atomic>
#include <random>

#include "node/shared_memory.h"

namespace ses::agent {
namespace {

// Made by this agent's user for UID, and nobody else's to read or write.
ses_segment_rule rule_of(uid_t uid) {
  return ses_segment_given(geteuid(), false, uid, sizeof(ses_claims));
}

bool is_ours(const ses_segment_facts &facts, uid_t uid) {
  const ses_segment_rule rule = rule_of(uid);
  return ses_segment_follows(&facts, &rule) && !facts.keyed && !facts.removed;
}

} // namespace

std::unique_ptr<ClaimsSegment> ClaimsSegment::make(uid_t uid, std::string &why) {
  const ses_segment_rule rule = rule_of(uid);
  ses_segment_facts facts{};
  void *at = nullptr;
  const int id = ses_segment_make(0, rule.size, SHM_NORESERVE | rule.mode);
  int status = id < 0 ? id : ses_segment_give(id, uid, getegid(), rule.mode);
  if (status >= 0) {
    status = ses_segment_attach(id, &rule, true, &facts, &at);
  }
  if (status < 0) {
    why = why_no_segment(status, 0);
    ses_segment_remove(id);
    return nullptr;
  }
  std::random_device device;
  const uint64_t instance = (static_cast<uint64_t>(device()) << 32) | device();
  return std::unique_ptr<ClaimsSegment>(new ClaimsSegment(id, uid, instance, at));
}

std::unique_ptr<ClaimsSegment> ClaimsSegment::take_over(int id, uid_t uid, uint64_t instance) {
  const ses_segment_rule rule = rule_of(uid);
  ses_segment_facts facts{};
  void *at = nullptr;
  if (ses_segment_look(id, &facts) != 0 || facts.maker != geteuid() || facts.size != rule.size) {
    return nullptr;
  }
  if (!is_ours(facts, uid) || ses_segment_attach(id, &rule, true, &facts, &at) != 0) {
    ses_segment_remove(id);
    return nullptr;
  }
  return std::unique_ptr<ClaimsSegment>(new ClaimsSegment(id, uid, instance, at));
}

ClaimsSegment::ClaimsSegment(int id, uid_t uid, uint64_t instance, void *at)
    : id_(id), uid_(uid), instance_(instance), claims_(static_cast<ses_claims *>(at)) {
  claims_->head.segment = SES_CLAIMS_KIND;
  claims_->head.instance = instance;
  claims_->head.uid = uid;
  std::atomic_ref(claims_->head.state).store(SES_TABLE_ALIVE);
}

ClaimsSegment::~ClaimsSegment() { ses_segment_detach(claims_); }

bool ClaimsSegment::is_lost() const {
  ses_segment_facts facts{};
  return ses_segment_look(id_, &facts) != 0 || !is_ours(facts, uid_);
}

bool ClaimsSegment::has_programs() const {
  ses_segment_facts facts{};
  return ses_segment_look(id_, &facts) == 0 && facts.attached > 1; // one is the agent
}

void ClaimsSegment::retire() {
  std::atomic_ref(claims_->head.state).store(SES_TABLE_RETIRED);
  ses_segment_remove(id_);
}

} // namespace ses::agent
