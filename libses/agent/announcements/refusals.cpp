#include "announcements/refusals.h"

#include <spdlog/spdlog.h>

#include <unordered_map>

#include "protocol/wire.h"

namespace ses::agent {
namespace {

constexpr std::chrono::minutes kLoggedEvery{1};
constexpr size_t kMaxUsers = 1000; // with more, those that were logged before are forgotten

} // namespace

void Refusals::note(const Announcement &announcement, const AnnouncementReply &reply,
                    Clock::time_point now) {
  if (reply.refused.empty() && reply.refused_items.empty()) {
    return;
  }
  std::unordered_map<uint64_t, const std::string *> user_of;
  for (const auto &opened : announcement.opened) {
    user_of[opened.file->placement_id] = &opened.user;
  }
  for (const auto &ended : announcement.ended) {
    user_of[ended.file->placement_id] = &ended.user;
  }
  const std::string nobody;
  for (const auto &[id, why] : reply.refused) {
    const auto user = user_of.find(id);
    note(user == user_of.end() ? nobody : *user->second, why, now);
  }
  for (const RefusedItem &item : reply.refused_items) {
    note(user_of_item(announcement, item), item.list + ": " + item.detail, now);
  }
}

void Refusals::note(const std::string &user, const std::string &why, Clock::time_point now) {
  ++total_;
  Logged &logged = logged_[user];
  ++logged.since;
  if (logged.at != Clock::time_point() && now - logged.at < kLoggedEvery) {
    return;
  }
  const std::string whose = user.empty() ? "" : " of user " + printable(user);
  const std::string text =
      "what was announced" + whose + " (" + std::to_string(logged.since) + "): " + printable(why);
  spdlog::warn("the service refuses {}", text);
  health_.refused(std::to_string(total_) + " " + text);
  logged = {now, 0};
  if (logged_.size() > kMaxUsers) {
    std::erase_if(logged_,
                  [&](const auto &entry) { return now - entry.second.at >= kLoggedEvery; });
  }
}

} // namespace ses::agent
