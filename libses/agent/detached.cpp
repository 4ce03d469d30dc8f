#include "detached.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "announcement.h"
#include "identity.h"

namespace ses::agent {
namespace {

constexpr size_t kMostRemembered = 4096;

} // namespace

Detached::Detached(std::string directory)
    : directory_(std::move(directory)), kept_(read_kept(directory_)),
      snapshot_(parse_snapshot(kept_.snapshot)) {}

std::string Detached::kept_systems() const {
  const std::lock_guard lock(mutex_);
  return kept_.systems;
}

void Detached::set_systems(const std::string &text) {
  const std::lock_guard lock(mutex_);
  changed_ = changed_ || text != kept_.systems;
  kept_.systems = text;
}

void Detached::set_snapshot(const std::string &text) {
  auto snapshot = parse_snapshot(text);
  if (!snapshot) {
    spdlog::debug("the snapshot the service gave is not one");
    return;
  }
  spdlog::debug("snapshot of {} elements", snapshot->elements.size());
  const std::lock_guard lock(mutex_);
  snapshot_ = std::move(snapshot);
  own_since_.clear();
  kept_.snapshot = text;
  changed_ = true;
}

void Detached::remember(const TicketKey &key, std::vector<Requirement> requirements) {
  const std::lock_guard lock(mutex_);
  if (resolved_.size() >= kMostRemembered) {
    resolved_.clear();
  }
  resolved_[{key.uid, key.application, key.system}] = std::move(requirements);
}

void Detached::save() {
  KeptFacts facts;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(changed_, false)) {
      return;
    }
    facts = kept_;
  }
  const std::string why = write_kept(directory_, facts);
  if (!why.empty() && !std::exchange(said_not_kept_, true)) {
    spdlog::warn("what the agent knows of the storage is not kept for its next start: {}; see "
                 "--state-dir",
                 why);
  }
}

bool Detached::ready(const std::string &system) const {
  const std::lock_guard lock(mutex_);
  return snapshot_ && std::any_of(snapshot_->elements.begin(), snapshot_->elements.end(),
                                  [&](const auto &element) { return element.system == system; });
}

void Detached::not_used(const std::string &element) {
  const std::lock_guard lock(mutex_);
  if (const auto found = own_since_.find(element); found != own_since_.end() && found->second > 0) {
    --found->second;
  }
}

// Stated ones go over those the service resolved last, kind by kind.
std::vector<Requirement> Detached::requirements_of(const TicketKey &key) const {
  std::vector<Requirement> requirements = key.requirements;
  const auto known = resolved_.find({key.uid, key.application, key.system});
  if (known != resolved_.end()) {
    for (const Requirement &one : known->second) {
      if (std::none_of(key.requirements.begin(), key.requirements.end(),
                       [&](const auto &stated) { return stated.kind == one.kind; })) {
        requirements.push_back(one);
      }
    }
  }
  return requirements;
}

std::vector<Placement> Detached::decide(const TicketKey &key, unsigned count,
                                        const std::vector<std::string> &exclude) {
  std::vector<Placement> placements;
  const std::lock_guard lock(mutex_);
  if (!snapshot_) {
    return placements;
  }
  CutOffQuestion question{key.system, requirements_of(key), key.expected_bytes,
                          exclude,    own_since_,           wall_clock()};
  std::uniform_real_distribution<double> chance(0, 1);
  for (unsigned i = 0; i < count; ++i) {
    auto choice = choose_cut_off(*snapshot_, question, [&] { return chance(random_); });
    if (!choice) {
      break;
    }
    ++own_since_[choice->element->element];
    Placement placement;
    placement.id = std::max<uint64_t>(random_(), 1);
    placement.backend = choice->element->backend;
    placement.element = choice->element->element;
    placement.target = choice->element->target;
    placement.distance = choice->distance;
    placement.origin = std::make_shared<const Origin>(Origin{{placement.element},
                                                             question.now,
                                                             key.expected_bytes,
                                                             choice->distance,
                                                             true,
                                                             std::move(choice->notes)});
    placements.push_back(std::move(placement));
  }
  return placements;
}

} // namespace ses::agent
