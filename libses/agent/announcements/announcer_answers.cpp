// What the service answers, and who is to know it.
#include <spdlog/spdlog.h>

#include <map>
#include <utility>

#include "announcements/announcer.h"
#include "service/json.h"

namespace ses::agent {
namespace {

constexpr size_t kMaxKnown = 4096;

} // namespace

// None: it is no answer to an announcement.
std::optional<AnnouncementReply> Announcer::read(const Reply &reply) {
  auto read = reply.status == 200 ? quiet_.read(reply.body) : std::nullopt;
  if (!read && reply.status == 200) {
    read = parse_announcement_reply(reply.body);
    if (read) {
      quiet_.remember(reply.body, *read);
    }
  }
  return read;
}

// Passes on the service's answer together with what was reported, which its tables count.
void Announcer::pass_on(const Batch &batch, AnnouncementReply reply, Clock::time_point asked_at) {
  if (!reply.nonsense.empty() && reply.nonsense != logged_nonsense_) {
    logged_nonsense_ = reply.nonsense;
    spdlog::warn("the service's answer has {} that makes no sense", reply.nonsense);
  }
  ServiceUpdate update;
  update.asked_at = asked_at;
  for (const auto &opening : batch.opened) {
    update.opened.push_back({opening.file.placement_id, opening.file.idle});
  }
  for (const auto &ending : batch.ended) {
    update.ended.push_back(ending.file.placement_id);
  }
  update.unknown = std::move(reply.unknown);
  for (const auto &[id, why] : reply.refused) {
    update.refused.push_back(id);
  }
  for (auto &table : reply.kept_tables) {
    service_.saved.set_table(std::move(table));
  }
  pass_on_needs(reply, update);
  update.tables = std::move(reply.tables);
  for (TableAnswer &table : update.tables) {
    table.report_within = std::chrono::duration<double>(reply.report_within).count();
  }
  service_.exchange.put(std::move(update));
}

void Announcer::pass_on_needs(AnnouncementReply &reply, ServiceUpdate &update) {
  std::map<std::string, nlohmann::json> entries;
  for (auto &entry : reply.kept_needs) {
    entries[text_field(entry, "user")].push_back(entry);
  }
  for (const auto &[user, needs] : reply.needs) {
    const auto uid = uid_of_.find(user);
    if (user.empty()) {
      update.site_needs = needs;
      service_.saved.set_needs(std::nullopt, entries[user]);
    } else if (uid != uid_of_.end()) {
      update.needs[uid->second] = needs;
      generation_of_[uid->second] = needs->generation;
      service_.saved.set_needs(uid->second, entries[user]);
    }
  }
  for (const auto &[user, uid] : uid_of_) { // those it says nothing of need nothing
    if (generation_of_.try_emplace(uid).second) {
      update.needs[uid] = std::make_shared<const UserNeeds>();
    }
  }
  std::erase_if(generation_of_, [&](const auto &known) {
    return generation_of_.size() > kMaxKnown &&
           !uid_of_.contains(names_.name_of(known.first).value_or(""));
  });
}

} // namespace ses::agent
