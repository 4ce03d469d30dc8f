// What the agent is sent by a service, and what it kept of that on disk.  First byte: as what the
// rest is read.
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "announcements/announcement.h"
#include "announcements/quiet_answer.h"
#include "announcements/unsent.h"
#include "must.h"
#include "node/own_file.h"
#include "service/messages.h"
#include "ses/limits.h"
#include "table/candidates.h"
#include "table/choice.h"
#include "table/saved_state.h"

using namespace ses::agent;

namespace {

// Of this process alone, and made again: a run takes minutes, and others clear /tmp.
const std::string &directory() {
  static const std::string name = "/tmp/ses-fuzz-" + std::to_string(getpid());
  static const int at_end = std::atexit([] { std::filesystem::remove_all(name); });
  MUST(at_end == 0);
  return name;
}

void keep(const char *name, const std::string &text) {
  MUST(write_own(directory(), name, text).empty());
}

// What a create goes by, of a table that was understood.
void use(const TableAnswer &table) {
  MUST(!table.elements || table.elements->size() <= SES_TABLE_ELEMENTS);
  Candidates candidates(table.system);
  const auto now = Candidates::Time{} + std::chrono::hours(1);
  if (!candidates.apply(table, now) || candidates.size() == 0) {
    return;
  }
  MUST(candidates.size() <= SES_TABLE_ELEMENTS);
  candidates.add(0, 1e9);
  auto epoch = std::make_shared<Epoch>();
  epoch->facts = candidates.facts();
  epoch->elements = candidates.elements(now);
  epoch->ages.assign(candidates.size(), 0);
  epoch->policy = candidates.policy();
  const ses_rank rank{5, 8, 4, 42};
  Choice choice;
  choice.epoch = epoch;
  choice.first = candidates.first(rank);
  choice.candidate_limit = candidates.candidate_limit(now, rank);
  choice.rows = {0};
  MUST(!std::isnan(distance_of(choice)));
  (void)predicted(choice);
  (void)decision_json(choice);
}

void use(const UserNeeds &needs) {
  for (const Need &need : needs.needs) {
    MUST(need.core.count <= SES_REQUIREMENTS_MAX && need.digest != 0);
    MUST(need.core.count == need.requirements.size());
    for (uint32_t i = 0; i < need.core.count; ++i) {
      const ses_core_requirement &requirement = need.core.requirements[i];
      MUST(requirement.bound >= 0 && requirement.bound <= SES_BOUND_MAX); // a NaN is neither
      MUST(requirement.weight > 0 && requirement.weight <= SES_WEIGHT_MAX);
    }
  }
  (void)needs.of("tar");
  const Requirement stated{SES_KIND_CURRENT_WRITE_RATE, true, 10, 1};
  uint32_t kept = 0;
  MUST(merge(needs.of(""), {stated}, 5, 2, kept).count <= SES_REQUIREMENTS_MAX);
}

void read_reply(const std::string &text) {
  static QuietAnswer quiet;
  const auto same = quiet.read(text);
  const auto reply = parse_announcement_reply(text);
  MUST(!same || reply); // the short way understands nothing that the long one does not
  if (!reply) {
    return;
  }
  quiet.remember(text, *reply);
  (void)quiet.read(text);
  for (const TableAnswer &table : reply->tables) {
    use(table);
  }
  for (const auto &[user, needs] : reply->needs) {
    use(*needs);
  }
}

void read_saved(const std::string &text) {
  keep("/agent.json", text);
  const SavedState saved(directory());
  (void)parse_storage_systems(saved.systems());
  for (const TableAnswer &table : saved.tables()) {
    use(table);
  }
  const SavedNeeds needs = saved.needs();
  for (const auto &[uid, of] : needs.users) {
    use(*of);
  }
}

void read_unsent(const std::string &text) {
  keep("/unsent", text);
  Unsent unsent(directory());
  for (unsigned i = 0; i < 8 && !unsent.empty(); ++i) {
    MUST(!unsent.first(Announcement{}).empty());
    unsent.drop_first();
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
  switch (data[0]) {
  case 's':
    read_saved(text);
    break;
  case 'u':
    read_unsent(text);
    break;
  case 'm':
    (void)parse_storage_systems(text);
    MUST(problem_detail(text).find('\n') == std::string::npos);
    break;
  default:
    read_reply(text);
  }
  return 0;
}
