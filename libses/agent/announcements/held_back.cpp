// Users by name: while the name service does not answer, files of users whose names are not known
// yet wait, and those of others go on.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "announcements/announcer.h"

namespace ses::agent {
namespace {

constexpr size_t kMostHeld = 65536;
constexpr std::chrono::milliseconds kNamePatience{200};

} // namespace

void Announcer::enter(std::vector<AnnouncementBacklog::Opening> opened,
                      std::vector<AnnouncementBacklog::Ending> ended) {
  for (auto &[uid, file, restore] : opened) {
    backlog_.opened(uid, std::move(file));
  }
  for (auto &[uid, file] : ended) {
    if (!backlog_.ended(uid, std::move(file))) {
      complete_due_ = true; // then what is not listed has ended
    }
  }
}

// What is told of files of users whose names are not known yet waits; all else goes on.
void Announcer::hold_back(std::vector<AnnouncementBacklog::Opening> &opened,
                          std::vector<AnnouncementBacklog::Ending> &ended) {
  std::set<uid_t> unknown;
  const auto move = [&](auto &from, auto &to, const auto &waits) {
    const auto first = std::stable_partition(from.begin(), from.end(),
                                             [&](const auto &one) { return !waits(one.uid); });
    std::move(first, from.end(), std::back_inserter(to));
    from.erase(first, from.end());
  };
  const bool has_room = held_opened_.size() < kMostHeld;
  move(opened, held_opened_, [&](uid_t uid) { return has_room && !names_.name_of(uid); });
  for (const auto &opening : held_opened_) {
    unknown.insert(opening.uid);
  }
  move(ended, held_ended_, [&](uid_t uid) { return unknown.contains(uid); });
}

void Announcer::let_go_on() {
  if (!held_opened_.empty() || !held_ended_.empty()) {
    auto opened = std::exchange(held_opened_, {});
    auto ended = std::exchange(held_ended_, {});
    hold_back(opened, ended);
    enter(std::move(opened), std::move(ended));
  }
}

// It was known when its first file was told of.
std::string Announcer::user_of(uid_t uid) {
  return names_.name_of(uid).value_or("uid-" + std::to_string(uid));
}

Announcement Announcer::announcement_of(const Batch &batch, const std::vector<uid_t> &users) {
  Announcement announcement;
  announcement.incarnation = incarnation_;
  announcement.number = ++number_;
  announcement.complete = batch.complete;
  announcement.tables = service_.exchange.wanted();
  for (const TableWanted &table : announcement.tables) {
    for (const Exclusion &one : table.excluded ? *table.excluded : Exclusions()) {
      if (one.uid) {
        announcement.names[*one.uid] = user_of(*one.uid);
      }
    }
  }
  announcement.busy = service_.exchange.busy();
  for (const auto &opening : batch.opened) {
    announcement.opened.push_back({&opening.file, user_of(opening.uid), opening.restore});
  }
  for (const auto &ending : batch.ended) {
    announcement.ended.push_back({&ending.file, user_of(ending.uid)});
  }
  uid_of_.clear();
  for (const uid_t uid : users) {
    const auto name = names_.name_of(uid, kNamePatience);
    if (!name) {
      continue; // asked about when it is known
    }
    announcement.users.push_back(*name);
    uid_of_[announcement.users.back()] = uid;
    if (const auto known = generation_of_.find(uid); known != generation_of_.end()) {
      announcement.generations[announcement.users.back()] = known->second;
    }
  }
  return announcement;
}

} // namespace ses::agent
