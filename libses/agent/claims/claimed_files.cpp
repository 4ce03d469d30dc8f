#include "claims/claimed_files.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "processes/identity.h"

namespace ses::agent {

std::shared_ptr<const Choice> ClaimedFiles::choice_of(const Of &user, const Claim &claim,
                                                      Time now) const {
  auto choice = std::make_shared<Choice>();
  choice->epoch = parts_.table.epoch(claim.system, claim.epoch);
  if (!choice->epoch) {
    return nullptr;
  }
  const bool is_before = user.needs_before && user.needs_before->with(claim.digest) != nullptr &&
                         (!user.needs || user.needs->with(claim.digest) == nullptr);
  choice->needs = is_before ? user.needs_before : user.needs;
  choice->digest = claim.digest;
  choice->need = claim.need;
  choice->stated = claim.stated;
  choice->seen = claim.seen;
  choice->held = parts_.table.held(claim.system, *choice->epoch);
  bool is_final = true;
  choice->excluded = parts_.table.excluded(claim.system) |
                     parts_.stages.not_staged(user.uid, claim.system, is_final);
  choice->rows = claim.rows;
  choice->first = claim.first;
  choice->candidate_limit = claim.candidate_limit;
  choice->rank = claim.rank;
  choice->decided = now;
  choice->decided_at = wall_clock();
  choice->offline = !parts_.health.available();
  choice->application = claim.application;
  return choice;
}

void ClaimedFiles::take(const Of &user, std::shared_ptr<const TableFacts> facts, Claim claim,
                        Time now) {
  const StorageSystem &system = parts_.table.about(claim.system);
  if (!parts_.systems.is_on(claim.file.device, system.name)) {
    spdlog::debug("uid {} claimed a file on another device than that of the system", user.uid);
    return;
  }
  auto choice = choice_of(user, claim, now); // before the file itself is counted
  if (parts_.announcer.overloaded_by(user.uid) ||
      !parts_.table.place(user.placement, claim.system, facts, claim.rows, claim.need)) {
    return;
  }
  ClaimedFile file;
  file.uid = user.uid;
  file.placement_id = user.placement;
  file.choice = std::move(choice);
  auto origin = std::make_shared<Origin>();
  for (const uint8_t row : claim.rows) {
    origin->elements.push_back(facts->rows[row].element);
  }
  origin->placed_at = wall_clock();
  if (claim.need.bytes >= 0) {
    origin->expected_bytes = static_cast<int64_t>(std::min(claim.need.bytes, 9e18));
  }
  origin->decided_by = "program";
  if (file.choice) {
    origin->distance = distance_of(*file.choice);
  } else {
    origin->notes.push_back("what it was chosen from is not kept any more");
  }
  file.origin = std::move(origin);
  file.device = claim.file.device;
  file.mount_point = system.mount_point;
  file.claim = std::move(claim);
  files_.push_back(std::move(file));
}

void ClaimedFiles::hand_on() {
  if (!files_.empty()) {
    parts_.finder.find(std::exchange(files_, {}));
  }
}

} // namespace ses::agent
