/* See ledger.h. */
#include "ledger.h"

#include <algorithm>

namespace ses::state {

namespace {

std::string named(Id id) { return "placement " + text_of(id); }

void refuse_strangers(const Placement &placement, const Text &user, const std::string &node) {
  const auto &subject = *placement.subject;
  if (user && *user != subject.user)
    throw LedgerError(LedgerError::not_yours, named(placement.id) + " is another user's");
  if (subject.node && node != *subject.node)
    throw LedgerError(LedgerError::not_yours, named(placement.id) + " is another node's");
}

void refuse_ended(const Placement &placement) {
  bool returns = may_return(placement.end_reason) || placement.end_reason == EndReason::unused;
  if (placement.ended && !returns)
    throw LedgerError(LedgerError::ended, named(placement.id) + " ended (" +
                                              std::string(name_of(*placement.end_reason)) + ")");
}

void update(Text &value, const Text &reported) {
  if (reported)
    value = reported;
}

PlacementPtr opened_again(const PlacementPtr &before, const Report &report, double now,
                          const std::string &node) {
  auto opened = std::make_shared<Placement>(*before);
  if (!opened->opened_at) /* an agent's clock may be wrong: not before it was placed, or in the
                             future */
    opened->opened_at = std::min(now, std::max(before->placed_at, moment(report.opened_at, now)));
  Subject subject = *before->subject;
  update(subject.application, report.application);
  update(subject.job, report.job);
  subject.node = node;
  if (subject != *before->subject)
    opened->subject = std::make_shared<const Subject>(std::move(subject));
  opened->ended = false;
  update(opened->path, report.path);
  update(opened->inode, report.inode);
  if (report.device)
    opened->device = report.device;
  if (report.pid)
    opened->pid = report.pid;
  opened->idle = report.idle.value_or(before->idle);
  if (before->idle && !opened->idle)
    opened->resumed_at = now;
  opened->lease_until = forever; /* as long as the node reports */
  opened->ended_at.reset();
  opened->end_reason.reset();
  opened->file_verdict.reset(); /* of an end that was none */
  return opened;
}

} // namespace

Ledger::Ledger(const Limits &limits, FileBounds bounds)
    : bounds(std::move(bounds)), _limits(limits) {}

void Ledger::describe(std::vector<ElementPtr> elements,
                      std::unordered_map<std::string, std::string> backends,
                      std::unordered_map<std::string, std::string> home_vo) {
  _described = true;
  _elements = std::move(elements);
  _backends = std::move(backends);
  _home_vo = std::move(home_vo);
  _row_of.clear();
  for (std::size_t row = 0; row < _elements.size(); row++)
    _row_of[_elements[row]->id] = static_cast<std::uint32_t>(row);
}

void Ledger::count_again() {
  for (auto &[id, entry] : _records) {
    if (entry.ended_at != 0 || entry.placement->idle)
      continue;
    counter.count(numbers_of(*entry.placement), 1.0, entry.placement->expected_bytes.value_or(0.0));
    promise(entry);
  }
}

PlacementPtr Ledger::find(Id id) const {
  auto there = _records.find(id);
  return there == _records.end() ? nullptr : there->second.placement;
}

PlacementPtr Ledger::get(Id id) const {
  auto there = find(id);
  if (!there)
    throw LedgerError(LedgerError::unknown, "no " + named(id) + " is known");
  return there;
}

void Ledger::restore(const PlacementPtr &placement) {
  auto [there, added] = _records.try_emplace(placement->id);
  if (!added)
    return;
  if (placement->ended) {
    keep(there->second, placement);
    drop_oldest();
  } else {
    activate(there->second, placement);
    recent.count(placement->elements.at(0)->system, placement->subject->node, placement->placed_at);
  }
  counter.placed(numbers_of(*placement), placement->placed_at);
}

PlacementPtr Ledger::open(const Report &report, double now, const std::string &node) {
  auto before = get(report.id);
  refuse_strangers(*before, report.user, node);
  refuse_ended(*before);
  auto opened = opened_again(before, report, now, node);
  if (before->held)
    opened = hooks.reported(opened, before, report.bytes);
  auto &entry = _records.at(report.id);
  if (before->ended) {
    activate(entry, opened);
  } else {
    leave(*before);
    if (!before->idle && opened->idle)
      stop(entry, now);
    else if (!before->idle)
      hold(*before, *opened);
    entry.placement = opened;
    enter(*opened);
    if (before->idle && !opened->idle)
      begin(entry);
  }
  if (report.bytes)
    sized(opened, *report.bytes, report.closed);
  note(opened->id);
  return opened;
}

bool Ledger::change(const PlacementPtr &place) {
  auto before = get(place->id);
  auto &entry = _records.at(place->id);
  if (before->ended) {
    auto open = std::make_shared<Placement>(*place);
    open->ended = false;
    open->ended_at.reset();
    open->end_reason.reset();
    activate(entry, open);
    return true;
  }
  if (place != before) {
    leave(*before);
    if (!before->idle)
      hold(*before, *place);
    entry.placement = place;
    enter(*place);
    note(place->id);
  }
  return false;
}

PlacementPtr Ledger::end(const Ended &ended, double now) {
  get(ended.id);
  auto &entry = _records.at(ended.id);
  if (entry.ended_at != 0)
    return complete(entry, ended);
  auto before = entry.placement;
  if (!before->idle)
    stop(entry, now);
  auto over = std::make_shared<Placement>(*before);
  over->ended = true;
  over->ended_at = now;
  over->end_reason = ended.reason;
  over->bytes_written = ended.bytes_written;
  over->achieved = ended.achieved;
  update(over->path, ended.path);
  leave(*before);
  _open_count--;
  ended_total[static_cast<std::size_t>(ended.reason)]++;
  keep(entry, over);
  note(ended.id);
  settle(ended.id, now);
  if (ended.bytes_written)
    sized(over, *ended.bytes_written, true);
  this->over(over);
  drop_oldest();
  return over;
}

PlacementPtr Ledger::complete(Entry &entry, const Ended &ended) {
  const auto &before = entry.placement;
  bool size = ended.bytes_written && !before->bytes_written;
  bool figures = ended.achieved && !before->achieved;
  if (!size && !figures && (!ended.path || before->path))
    return before;
  auto completed = std::make_shared<Placement>(*before);
  if (size)
    completed->bytes_written = ended.bytes_written;
  if (figures)
    completed->achieved = ended.achieved;
  if (!completed->path)
    completed->path = ended.path;
  entry.placement = completed;
  note(completed->id);
  if (size)
    sized(completed, *completed->bytes_written, true);
  if (figures)
    over(completed);
  return completed;
}

bool Ledger::keep_verdict(const PlacementPtr &placement, FileVerdictPtr verdict) {
  auto there = _records.find(placement->id);
  if (there == _records.end() || there->second.placement != placement ||
      there->second.ended_at == 0)
    return false;
  auto judged = std::make_shared<Placement>(*placement);
  judged->file_verdict = std::move(verdict);
  there->second.placement = judged;
  note(placement->id);
  return true;
}

void Ledger::release(Id id, double now) {
  auto there = _records.find(id);
  if (there == _records.end() || there->second.ended_at != 0)
    return;
  auto placement = there->second.placement;
  if (!placement->idle)
    stop(there->second, now);
  leave(*placement);
  _open_count--;
  _records.erase(there);
  settle(id, now);
  for (auto &follower : _followers)
    follower->erase(id);
}

void Ledger::inherit(const Placement &stored) {
  auto there = _records.find(stored.id);
  if (there == _records.end())
    return;
  auto known = std::make_shared<Placement>(*there->second.placement);
  known->distance = stored.distance;
  known->predicted = stored.predicted;
  known->why = stored.why;
  known->notes = stored.notes;
  known->why_notes = stored.why_notes;
  known->rank = stored.rank;
  known->batch_number = stored.batch_number;
  known->batch_size = stored.batch_size;
  known->stripe_size = stored.stripe_size;
  known->decided_by = stored.decided_by;
  known->expected_from = stored.expected_from;
  there->second.placement = known;
  if (known->ended)
    over(known);
}

std::size_t Ledger::expire(double now, std::size_t limit) {
  std::size_t count = 0;
  while (!_leases.empty() && _leases.top().first <= now && count < limit) {
    Id id = _leases.top().second;
    _leases.pop();
    auto there = _records.find(id);
    if (there != _records.end() && there->second.ended_at == 0 &&
        there->second.placement->lease_until <= now) {
      end({.id = id, .reason = EndReason::expired, .bytes_written = {}, .path = {}, .achieved = {}},
          now);
      count++;
    }
  }
  return count;
}

std::vector<Id> Ledger::open_on(const std::string &node) const {
  auto there = _open_on.find(node);
  if (there == _open_on.end())
    return {};
  std::vector<Id> ids(there->second.begin(), there->second.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::size_t Ledger::count_open_on(const std::string &node) const {
  auto there = _open_on.find(node);
  return there == _open_on.end() ? 0 : there->second.size();
}

bool Ledger::is_ended_by_node(Id id) const {
  auto there = _records.find(id);
  return there != _records.end() && there->second.ended_at != 0 &&
         !may_return(there->second.placement->end_reason);
}

std::vector<PlacementPtr> Ledger::records(const Text &user) const {
  std::vector<PlacementPtr> kept;
  kept.reserve(user ? 0 : _records.size());
  for (const auto &[id, entry] : _records)
    if (!user || entry.placement->subject->user == *user)
      kept.push_back(entry.placement);
  return kept;
}

std::vector<Id> Ledger::ids() const {
  std::vector<Id> ids;
  ids.reserve(_records.size());
  for (const auto &[id, place] : _ended) {
    auto there = _records.find(id);
    if (there != _records.end() && there->second.ended_at == place)
      ids.push_back(id);
  }
  for (const auto &[id, entry] : _records)
    if (entry.ended_at == 0)
      ids.push_back(id);
  return ids;
}

std::shared_ptr<Changes> Ledger::follow() {
  return _followers.emplace_back(std::make_shared<Changes>());
}

std::vector<std::pair<Id, PlacementPtr>> Ledger::take_changes(Changes &changes,
                                                              std::size_t limit) const {
  std::vector<std::pair<Id, PlacementPtr>> taken;
  taken.reserve(std::min(limit, changes.size()));
  while (!changes.empty() && taken.size() < limit) {
    Id id = *changes.begin();
    changes.erase(changes.begin());
    taken.emplace_back(id, find(id));
  }
  return taken;
}

void Ledger::note(Id id) {
  for (auto &follower : _followers)
    follower->insert(id);
}

} // namespace ses::state
