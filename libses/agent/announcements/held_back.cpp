// Users by name: while the name service does not answer, files of users whose names are not known
// yet wait, and those of others go on.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "announcements/announcer.h"

namespace ses::agent {
namespace {

constexpr size_t kMaxHeld = 65536;
constexpr std::chrono::milliseconds kNameTimeout{200};

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

// Reports about files of users whose names are not known yet wait; all others go on.
void Announcer::hold_back(std::vector<AnnouncementBacklog::Opening> &opened,
                          std::vector<AnnouncementBacklog::Ending> &ended) {
  std::set<uid_t> unknown;
  const auto waiting = [](auto &from, const auto &waits) {
    return std::stable_partition(from.begin(), from.end(),
                                 [&](const auto &opening) { return !waits(opening.uid); });
  };
  const bool has_room = held_opened_.size() < kMaxHeld;
  const auto openings =
      waiting(opened, [&](uid_t uid) { return has_room && !names_.name_of(uid); });
  std::for_each(openings, opened.end(), [this](auto &opening) {
    held_opened_.insert_or_assign(opening.file.placement_id, std::move(opening));
  });
  opened.erase(openings, opened.end());
  for (const auto &[id, opening] : held_opened_) {
    unknown.insert(opening.uid);
  }
  const auto endings = waiting(ended, [&](uid_t uid) { return unknown.contains(uid); });
  std::move(endings, ended.end(), std::back_inserter(held_ended_));
  ended.erase(endings, ended.end());
}

void Announcer::let_go_on() {
  if (!held_opened_.empty() || !held_ended_.empty()) {
    std::vector<AnnouncementBacklog::Opening> opened;
    for (auto &[id, opening] : std::exchange(held_opened_, {})) {
      opened.push_back(std::move(opening));
    }
    auto ended = std::exchange(held_ended_, {});
    hold_back(opened, ended);
    enter(std::move(opened), std::move(ended));
  }
}

void Announcer::change(const std::vector<IdleFiles::Changed> &moved,
                       const std::vector<IdleFiles::Grown> &grown) {
  for (const auto &[id, idle] : moved) {
    if (const auto held = held_opened_.find(id); held != held_opened_.end()) {
      held->second.file.idle = idle;
    } else {
      backlog_.moved(id, idle);
    }
  }
  for (const IdleFiles::Grown &file : grown) {
    if (const auto held = held_opened_.find(file.placement); held != held_opened_.end()) {
      held->second.file.bytes = file.size;
      held->second.file.closed = file.closed;
    } else {
      backlog_.grew(file);
    }
  }
}

// The name was known when the user's first file was reported.
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
    for (const Exclusion &exclusion : table.excluded ? *table.excluded : Exclusions()) {
      if (exclusion.uid) {
        announcement.names[*exclusion.uid] = user_of(*exclusion.uid);
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
    const auto name = names_.name_of(uid, kNameTimeout);
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
