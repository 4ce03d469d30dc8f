#include "table/table_manager.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "processes/identity.h"

namespace ses::agent {
namespace {

using std::chrono::milliseconds;

constexpr size_t kEpochs = 64;     // of a system, that decisions can be worked out of
constexpr size_t kRevisions = 64;  // whose rows a late claim may name: half a minute at least
constexpr milliseconds kEvery{50}; // what changes with time is looked at

uint64_t in_ms(TableManager::Time time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count());
}

} // namespace

TableManager::TableManager(const Parts &parts)
    : parts_(parts), socket_hash_(ses_segment_hash(parts.socket_path.c_str())) {
  const auto on_change = [this] {
    places_changed_ = true;
    parts_.exchange.mounts_changed();
  };
  parts_.lustre.set_on_change(on_change);
  parts_.unions.set_on_change(on_change);
}

bool TableManager::open(std::string &why) {
  segment_ = TableSegment::open(socket_hash_, why);
  if (!segment_) {
    spdlog::warn("programs do not see the candidates and ask over the socket: {}", why);
    segment_ = TableSegment::hidden();
  }
  if (!segment_) {
    return false;
  }
  publisher_ =
      std::make_unique<TablePublisher>(segment_->table(), socket_hash_, segment_->was_left());
  if (segment_->was_left()) {
    take_over();
  }
  return true;
}

// Claims that were made meanwhile name rows of what the earlier agent published; the numbers there
// are out of date.
void TableManager::take_over() {
  for (unsigned number = 0; number < SES_TABLE_SYSTEMS; ++number) {
    const ses_table_system &shared = segment_->table().systems[number];
    if (shared.sequence == 0) {
      continue;
    }
    TableFacts facts = left_in(shared);
    if (shared.sequence % 2 == 0 && !facts.rows.empty()) {
      const std::string &element = facts.rows.front().element;
      facts.system = element.substr(0, element.find('/'));
      systems_[number].about.name = facts.system;
      systems_[number].about.backend = shared.backend;
      systems_[number].revisions.emplace_back(0,
                                              std::make_shared<const TableFacts>(std::move(facts)));
    }
    publisher_->write(number, {});
  }
  publisher_->set_mounts({});
}

std::optional<unsigned> TableManager::slot_of(const std::string &name) {
  std::optional<unsigned> free;
  for (unsigned number = 0; number < SES_TABLE_SYSTEMS; ++number) {
    const System &system = systems_[number];
    if (system.about.name == name) {
      return number;
    }
    const bool is_free = system.about.name.empty() || (!system.mounted && !system.candidates);
    free = is_free && !free ? std::optional(number) : free;
  }
  if (free) {
    systems_[*free] = System{};
    systems_[*free].about.name = name;
  } else if (!std::exchange(logged_many_systems_, true)) {
    spdlog::warn("more than {} storage systems are mounted here; files on {} are not placed",
                 SES_TABLE_SYSTEMS, name);
  }
  return free;
}

void TableManager::look_at_mounts(Time now) {
  for (System &system : systems_) {
    system.mounted = false;
  }
  std::vector<TablePublisher::Mount> mounts;
  for (const auto &[device, about] : parts_.systems.all_mounted()) {
    const auto number = slot_of(about.name);
    if (!number) {
      continue;
    }
    System &system = systems_[*number];
    const bool changed =
        system.about.backend != about.backend || system.about.mount_point != about.mount_point;
    system.about = about;
    system.mounted = true;
    if (changed && system.candidates) {
      ++generation_;
      look_at_places(system);
      publish(*number, now);
    }
    mounts.push_back({device, *number, about.mount_point});
  }
  publisher_->set_mounts(mounts);
  parts_.lustre.look_soon();
  parts_.unions.look_soon();
  report_wanted();
}

void TableManager::report_wanted() {
  std::vector<TableWanted> wanted;
  for (const System &system : systems_) {
    if (system.mounted) {
      wanted.push_back({system.about.name, "", 0, nullptr});
      if (system.candidates) {
        wanted.back().revision = system.candidates->revision();
        wanted.back().version = system.candidates->version();
        wanted.back().excluded = system.excluded;
      }
    }
  }
  parts_.exchange.set_wanted(std::move(wanted));
}

void TableManager::apply_saved(const std::vector<TableAnswer> &tables, Time now) {
  for (const TableAnswer &table : tables) {
    const double age = std::max(0.0, wall_clock() - table.sent_at);
    const auto sent_at = now - std::chrono::duration_cast<Time::duration>(
                                   std::chrono::duration<double>(std::min(age, 1e8)));
    apply_table(table, sent_at, now);
  }
  report_wanted();
}

void TableManager::apply(const ServiceUpdate &update, Time now) {
  note_reported(update);
  for (const TableAnswer &table : update.tables) {
    if (const auto number = number_of(table.system)) {
      settle(*number);
    }
    apply_table(table, update.asked_at, now);
  }
  report_wanted();
}

void TableManager::apply_table(const TableAnswer &answer, Time asked_at, Time now) {
  const auto number = slot_of(answer.system);
  if (!number) {
    return;
  }
  System &system = systems_[*number];
  if (!system.candidates) {
    system.candidates = std::make_unique<Candidates>(answer.system);
  }
  const auto before = system.candidates->facts();
  if (!system.candidates->apply(answer, asked_at)) {
    return; // asked for in full the next time, since its revision is another one
  }
  if (system.candidates->facts() != before) {
    spdlog::debug("{} has {} candidates, revision {}", answer.system, system.candidates->size(),
                  answer.revision);
    count_again(*number);
    ++generation_;
    system.revisions.emplace_back(publisher_->epoch(*number) + 1, system.candidates->facts());
    if (system.revisions.size() > kRevisions) {
      system.revisions.pop_front();
    }
    look_at_places(system);
  }
  publish(*number, now);
}

bool TableManager::look_at_places(System &system) {
  const TableFacts &facts = *system.candidates->facts();
  Places places = places_of(system.about, facts, parts_.lustre, parts_.unions, parts_.lustre_form);
  const bool changed = !same_rows(places, system.places);
  log_changes(facts, places, system.logged);
  system.excluded = exclusions_of(facts, places, system.of_users);
  system.places = std::move(places);
  return changed;
}

void TableManager::publish(unsigned number, Time now) {
  System &system = systems_[number];
  const Candidates &candidates = *system.candidates;
  system.unseen = candidates.unseen(now);
  TablePublisher::System shown{
      system.about.backend, candidates.elements(now), system.places.rows,
      candidates.policy(),  system.places.excluded,   candidates.candidate_limit(now),
      candidates.total(),   candidates.numbers(),     in_ms(candidates.asked_at())};
  auto epoch = std::make_shared<Epoch>();
  epoch->number = publisher_->write(number, shown);
  publisher_->set_streams(number, streams_of(system));
  epoch->facts = candidates.facts();
  for (unsigned row = 0; row < candidates.size(); ++row) {
    const bool counts = (system.unseen >> row & 1) == 0;
    epoch->ages.push_back(counts ? candidates.age(row, now) : kNotKnown);
  }
  parts_.writing_out.show(number, candidates.facts(), shown.elements);
  epoch->elements = std::move(shown.elements);
  epoch->policy = shown.policy;
  epoch->version = candidates.version();
  epoch->asked_at = candidates.asked_at();
  epoch->published = now;
  system.epochs.push_back(std::move(epoch));
  if (system.epochs.size() > kEpochs) {
    system.epochs.pop_front();
  }
  system.dirty = false;
}

void TableManager::tick(Time now) {
  const bool places = places_changed_.exchange(false);
  if (!places && now - ticked_at_ < kEvery) {
    return;
  }
  ticked_at_ = now;
  if (segment_->publish(socket_hash_, now)) {
    spdlog::info("programs see the candidates from now on");
  }
  for (unsigned number = 0; number < SES_TABLE_SYSTEMS; ++number) {
    System &system = systems_[number];
    if (!system.candidates || !system.mounted) {
      continue;
    }
    if (const uint64_t used = std::exchange(system.used, 0); used != 0 && system.places.of_lustre) {
      parts_.lustre.use(system.about.name, osts_of(system.places, used));
    }
    const uint64_t excluded = system.places.excluded;
    bool changed = system.candidates->forget_placements(now) ||
                   system.candidates->unseen(now) != system.unseen;
    const Union on = parts_.unions.seen(system.about.mount_point);
    changed = system.candidates->look_at_space(on.used, on.looked_at) || changed;
    if (places) {
      changed = look_at_places(system) || changed;
      report_wanted();
      generation_ += excluded != system.places.excluded ? 1 : 0;
    }
    if (changed) {
      publish(number, now);
    } else {
      publisher_->set_candidate_limit(number, system.candidates->candidate_limit(now));
      publisher_->set_excluded(number, system.places.excluded);
    }
  }
}

void TableManager::show(Time now) {
  for (unsigned number = 0; number < SES_TABLE_SYSTEMS; ++number) {
    System &system = systems_[number];
    if (!std::exchange(system.dirty, false) || !system.candidates) {
      continue;
    }
    const std::vector<ses_core_element> elements = system.candidates->elements(now);
    for (unsigned row = 0; row < elements.size(); ++row) {
      publisher_->update(number, row, elements[row]);
    }
    publisher_->set_streams(number, streams_of(system));
    parts_.writing_out.show(number, system.candidates->facts(), elements);
  }
}

std::optional<unsigned> TableManager::number_of(const std::string &name) const {
  for (unsigned number = 0; number < SES_TABLE_SYSTEMS; ++number) {
    const System &system = systems_[number];
    if (system.about.name == name && system.candidates && system.candidates->size() > 0) {
      return number;
    }
  }
  return std::nullopt;
}

std::vector<unsigned> TableManager::systems() const {
  std::vector<unsigned> numbers;
  for (unsigned number = 0; number < SES_TABLE_SYSTEMS; ++number) {
    if (systems_[number].mounted && systems_[number].candidates) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

std::shared_ptr<const TableFacts> TableManager::facts(unsigned system, uint64_t epoch) const {
  std::shared_ptr<const TableFacts> latest;
  for (const auto &[first, facts] : systems_[system].revisions) {
    latest = first <= epoch ? facts : latest;
  }
  return latest;
}

std::shared_ptr<const Epoch> TableManager::epoch(unsigned system, uint64_t number) const {
  const auto &epochs = systems_[system].epochs;
  const auto match = std::find_if(epochs.rbegin(), epochs.rend(),
                                  [&](const auto &epoch) { return epoch->number == number; });
  return match == epochs.rend() ? nullptr : *match;
}

Choice TableManager::choose(unsigned number, const ses_core_need &need, uint64_t excluded,
                            const ses_rank &rank, Time now) {
  const System &system = systems_[number];
  Choice choice;
  choice.need = need;
  choice.excluded = system.places.excluded | excluded;
  choice.epoch = system.epochs.back();
  choice.held = held(number, *choice.epoch);
  choice.decided = now;
  choice.decided_at = wall_clock();
  choice.rank = rank;
  choice.first = system.candidates->first(rank);
  choice.candidate_limit = system.candidates->candidate_limit(now, rank, streams_of(system));
  const std::vector<ses_core_element> elements = system.candidates->elements(now);
  for (size_t row = 0; row < elements.size(); ++row) {
    choice.seen[row] = static_cast<uint16_t>(std::min(elements[row].own, 65535.0F));
  }
  const ses_core_policy policy = system.candidates->policy();
  const ses_core_query query{.need = &choice.need,
                             .policy = &policy,
                             .elements = elements.data(),
                             .claims = nullptr,
                             .server_claims = nullptr,
                             .excluded = &choice.excluded,
                             .count = elements.size(),
                             .first = choice.first,
                             .candidate_limit = choice.candidate_limit,
                             .ignores_last_placed = rank.ranks != 0};
  std::array<ses_core_verdict, SES_TABLE_ELEMENTS> verdicts{};
  std::array<uint32_t, SES_TABLE_ELEMENTS> spare{}, rows{};
  const int chosen = ses_core_choose(&query, verdicts.data());
  if (chosen < 0 || (system.about.backend == SES_BACKEND_MERGERFS &&
                     verdicts[static_cast<size_t>(chosen)].low_space != 0)) {
    return choice; // a union looks itself where room is tight
  }
  const bool is_pool =
      system.about.backend != SES_BACKEND_LUSTRE ||
      system.candidates->facts()->rows[static_cast<size_t>(chosen)].target.find_first_not_of(
          "0123456789") != std::string::npos;
  size_t count = 1;
  rows[0] = static_cast<uint32_t>(chosen);
  if (!is_pool) {
    ses_core_cause why{};
    count = ses_core_stripe(&query, verdicts.data(), spare.data(), rows.data(), SES_OSTS_MAX, &why);
  }
  choice.rows.assign(rows.begin(), rows.begin() + static_cast<long>(count));
  return choice;
}

} // namespace ses::agent
