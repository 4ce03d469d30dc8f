/* How the ledger takes what a node reports; see ledger.h. */
#include "ledger.h"

#include <algorithm>

namespace ses::state {

namespace {

double shortfall(const Number &value, double bound, bool at_most) {
  if (bound <= 0 && !at_most)
    return 0.0;
  if (!value)
    return 1.0;
  if (at_most)
    return *value > bound ? 1.0 - bound / *value : 0.0;
  return *value < bound ? 1.0 - *value / bound : 0.0;
}

Number predicted_value(const Kind &kind, const Offered &offered, const Element &element) {
  switch (kind.predicts) {
  case Predicts::read:
    return offered.read;
  case Predicts::average_read:
    return offered.average_read;
  case Predicts::write:
    return offered.write;
  case Predicts::average_write:
    return offered.average_write;
  case Predicts::free:
    return offered.free;
  case Predicts::no:
    break;
  }
  Number value;
  for (const auto &[name, stated] : element.stated)
    if (name == kind.name)
      value = stated;
  return value;
}

} // namespace

TakenFiles Ledger::take(const Files &files, const std::string &node, double now,
                        const Explain &explain) {
  TakenFiles taken;
  std::unordered_map<std::string, SubjectPtr> subjects;
  std::unordered_map<std::int64_t, WhyPtr> explained;
  auto once = [&](std::int64_t decision, const std::string &user) {
    auto [there, added] = explained.try_emplace(decision);
    if (added)
      there->second = explain(decision, user);
    return there->second;
  };
  for (const auto &report : files.opened) {
    try {
      take_opened(report, node, now, once, subjects, taken);
    } catch (const LedgerError &error) {
      if (error.kind != LedgerError::ended)
        taken.refused.push_back({report.id, std::string(error.what()) + "."});
      else if (auto known = find(report.id); known && known->held)
        taken.unknown.push_back(report.id); /* places are watched on until the node learns it */
    }
  }
  for (const auto &ended : files.ended) {
    auto known = find(ended.id);
    if (!known)
      taken.unknown.push_back(ended.id);
    else if (known->subject->node && *known->subject->node != node)
      taken.refused.push_back({ended.id, "The placement is another node's."});
    else
      end(ended, now);
  }
  return taken;
}

void Ledger::take_opened(const Report &given, const std::string &node, double now,
                         const Explain &explain,
                         std::unordered_map<std::string, SubjectPtr> &subjects, TakenFiles &taken) {
  auto known = find(given.id);
  if (!known && (!given.origin || !_described)) {
    taken.unknown.push_back(given.id);
    return;
  }
  const std::string user = given.user.value_or("");
  if (!known || known->ended) {
    if (auto why = bounds.refuses(node, user, now); !why.empty()) {
      taken.refused.push_back({given.id, why});
      return;
    }
  }
  std::optional<Report> changed;
  if (given.job && bounds.is_anothers(node, known ? known->subject->user : user, *given.job)) {
    changed = given; /* a job that is another user's there counts for none */
    changed->job.reset();
    if (changed->origin)
      changed->origin->notes.push_back("job " + *given.job +
                                       ", which the node named, is another user's there");
  }
  const Report &report = changed ? *changed : given;
  if (!known) {
    auto key = user + '\0' + report.application.value_or("\1") + '\0' + report.job.value_or("\1");
    auto &subject = subjects[key]; /* files of one program share it */
    if (!subject) {
      auto home = _home_vo.find(user);
      subject = std::make_shared<const Subject>(
          Subject{user, report.application, home == _home_vo.end() ? Text() : Text(home->second),
                  node, report.job});
    }
    restore(restored(report, *report.origin, subject, now, explain));
    if (!report.in_batch)
      taken.inherited.push_back(report.id);
    if (!report.bytes)
      return;
  }
  open(report, now, node);
}

PlacementPtr Ledger::restored(const Report &report, const Origin &origin, SubjectPtr subject,
                              double now, const Explain &explain) const {
  auto made = std::make_shared<Placement>();
  std::string missing;
  for (const auto &name : origin.elements) {
    auto row = _row_of.find(name);
    if (row == _row_of.end())
      missing += (missing.empty() ? "" : ", ") + name;
    else
      made->elements.push_back(_elements[row->second]);
  }
  if (!missing.empty() || made->elements.empty())
    throw LedgerError(LedgerError::other, "the site describes no element " +
                                              (missing.empty() ? "of no name" : missing));
  const auto &first = *made->elements[0];
  made->id = report.id;
  if (auto backend = _backends.find(first.system); backend != _backends.end())
    made->backend = backend->second;
  made->distance = origin.distance;
  made->placed_at = std::min(now, origin.placed_at);
  made->lease_until = forever; /* as long as the node reports */
  made->notes = origin.notes;
  made->stripe_count = static_cast<int>(made->elements.size());
  made->decided_by = origin.decided_by;
  made->expected_bytes = origin.expected_bytes;
  made->path = report.path;
  made->device = report.device;
  made->inode = report.inode;
  made->pid = report.pid;
  made->opened_at = std::max(made->placed_at, std::min(now, moment(report.opened_at, now)));
  made->idle = report.idle.value_or(false);
  const auto &batch = report.in_batch;
  WhyPtr why = batch ? explain(batch->decision, subject->user) : nullptr;
  made->subject = std::move(subject);
  if (!why)
    return made;
  made->why = why;
  for (const auto &asked : why->required) {
    auto value = predicted_value(*asked.kind, batch->predicted, first);
    made->predicted.push_back(
        {asked.kind, value, asked.bound, shortfall(value, asked.bound, asked.kind->at_most)});
  }
  made->batch_number = batch->batch_number;
  made->batch_size = batch->batch_size;
  auto rank = why->ranks.find(first.id);
  made->rank = rank == why->ranks.end() ? static_cast<int>(why->ranks.size()) + 1 : rank->second;
  made->expected_from = why->expected_from;
  return made;
}

} // namespace ses::state