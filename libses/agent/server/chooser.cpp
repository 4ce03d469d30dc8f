#include "server/chooser.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "claims/lookup.h"
#include "lustre/placement.h"
#include "systems/stage.h"

namespace ses::agent {
namespace {

using Clock = std::chrono::steady_clock;

} // namespace

std::optional<std::variant<ses_answer_status, Placement>>
Chooser::choose(const Connection &connection, bool is_final) {
  StorageSystem system;
  const Systems::Answer known = parts_.systems.find(connection.ask.device, system);
  if (known == Systems::Answer::kNotManaged) {
    return SES_ANSWER_NOT_MANAGED;
  }
  parts_.claims.asked(connection.peer.uid, Clock::now());
  // A pool is part of a layout that is not among what files need.
  const bool other_layout = !connection.ask.pool.empty() && system.backend != SES_BACKEND_MERGERFS;
  if (other_layout || parts_.announcer.overloaded_by(connection.peer.uid)) {
    return SES_ANSWER_UNAVAILABLE;
  }
  if (!is_final && has_to_wait(connection, known, system)) {
    return std::nullopt;
  }
  if (auto placement = place(connection, system)) {
    return *std::move(placement);
  }
  return SES_ANSWER_UNAVAILABLE;
}

// The service may say it soon, or somebody looks whether it is there: a service that is not there
// may have come since the last look.
bool Chooser::has_to_wait(const Connection &connection, Systems::Answer known,
                          const StorageSystem &system) {
  const auto number = parts_.table.number_of(system.name);
  const bool knows_all = known == Systems::Answer::kManaged && number &&
                         parts_.claims.needs_of(connection.peer.uid) != nullptr;
  if (!knows_all && (parts_.health.available() || parts_.health.needed(parts_.announcer.pace()))) {
    return true;
  }
  if (number && !parts_.table.has_places(*number)) {
    return true;
  }
  bool is_final = true;
  if (number) {
    (void)parts_.claims.not_staged(connection.peer.uid, *number, is_final);
  }
  return !is_final;
}

std::optional<Placement> Chooser::place(const Connection &connection, const StorageSystem &system) {
  const auto number = parts_.table.number_of(system.name);
  if (!number) {
    return std::nullopt;
  }
  const uid_t uid = connection.peer.uid;
  const Ask &ask = connection.ask;
  auto needs = parts_.claims.needs_of(uid);
  needs = needs ? needs : parts_.claims.site_needs();
  const Need *need = needs ? needs->of(connection.ask.application) : nullptr;
  bool is_final = true;
  uint32_t stated = 0;
  const auto merged = merge(need, ask.requirements, ask.expected_bytes, ask.stripe_count, stated);
  auto choice = std::make_shared<Choice>(parts_.table.choose(
      *number, merged, parts_.claims.not_staged(uid, *number, is_final), ask.rank, Clock::now()));
  if (choice->rows.empty()) {
    return std::nullopt;
  }
  choice->needs = needs;
  choice->stated = stated;
  choice->digest = need != nullptr ? need->digest : 0;
  choice->offline = !parts_.health.available();
  choice->application = connection.ask.application;
  Placement placement;
  placement.id = std::max<uint64_t>(random_(), 1);
  placement.backend = system.backend;
  placement.distance = distance_of(*choice);
  auto origin = std::make_shared<Origin>();
  std::vector<std::string> targets;
  for (const uint8_t row : choice->rows) {
    const ElementFacts &facts = choice->epoch->facts->rows[row];
    origin->elements.push_back(facts.element);
    targets.push_back(facts.target);
  }
  placement.element = origin->elements.front();
  placement.target = targets.front();
  if (system.backend == SES_BACKEND_LUSTRE) {
    if (!place_on_lustre(targets, placement)) {
      return std::nullopt;
    }
    parts_.lustre.write_as(parts_.lustre_form, system.name, placement);
  } else {
    placement.stage = stage_path(placement.target, uid);
    placement.stage_in_union = stage_path(system.mount_point, uid);
    placement.least_free = least_free_of(*choice);
  }
  origin->placed_at = choice->decided_at;
  origin->expected_bytes = ask.expected_bytes;
  origin->distance = placement.distance;
  placement.origin = std::move(origin);
  if (!parts_.table.place(placement.id, *number, choice->epoch->facts, choice->rows,
                          choice->need)) {
    return std::nullopt;
  }
  parts_.table.show(Clock::now());
  placement.choice = std::move(choice);
  return placement;
}

} // namespace ses::agent
