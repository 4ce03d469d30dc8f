#include "announcements/announcement_backlog.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace ses::agent {
namespace {

constexpr size_t kMaxWaiting = 100000;
constexpr size_t kMaxWaitingOfUid = 16384;
constexpr size_t kMaxMovesOfUser = 100; // in a batch
constexpr size_t kMaxTaken = 20000;     // openings and ends kept until stored, some 20 MB

} // namespace

bool AnnouncementBacklog::crowded_by(uid_t uid) const {
  const auto user = users_.find(uid);
  return user != users_.end() &&
         user->second.waiting() >= std::min(kMaxWaitingOfUid, kMaxWaiting / users_.size());
}

std::set<FileId> AnnouncementBacklog::streams_of(const std::set<FileId> &files) const {
  std::set<FileId> streams;
  for (const auto &[id, open] : open_) {
    const OpenedFile &file = open.opening.file;
    if (!file.idle && files.contains({file.device, file.inode})) {
      streams.insert({file.device, file.inode});
    }
  }
  return streams;
}

AnnouncementBacklog::Open *AnnouncementBacklog::find(uint64_t id) {
  for (auto *map : {&open_, &ending_}) {
    if (const auto file = map->find(id); file != map->end()) {
      return &file->second;
    }
  }
  return nullptr;
}

void AnnouncementBacklog::queue_opening(uint64_t id, Open &open, bool at_front) {
  if (open.waiting) {
    return;
  }
  open.waiting = true;
  open.moved = false; // passed over there
  ++waiting_;
  auto &openings = users_[open.opening.uid].openings;
  openings.insert(at_front ? openings.begin() : openings.end(), id);
}

void AnnouncementBacklog::queue_ending(Ending ending, bool at_front) {
  ++waiting_;
  auto &endings = users_[ending.uid].endings;
  endings.insert(at_front ? endings.begin() : endings.end(), std::move(ending));
}

void AnnouncementBacklog::opened(uid_t uid, OpenedFile file) {
  const uint64_t id = file.placement_id;
  const bool has_origin = file.origin != nullptr;
  Open &open = open_[id];
  open.opening.uid = uid;
  open.opening.file = std::move(file);
  open.opening.restore = has_origin;
  queue_opening(id, open, false);
}

void AnnouncementBacklog::moved(uint64_t id, bool idle) {
  change(id, [idle](OpenedFile &file) { file.idle = idle; });
}

void AnnouncementBacklog::grew(const IdleFiles::Grown &grown) {
  change(grown.placement, [&grown](OpenedFile &file) {
    file.bytes = grown.size;
    file.closed = grown.closed;
  });
}

template <typename Change> void AnnouncementBacklog::change(uint64_t id, Change to) {
  if (const auto file = open_.find(id); file != open_.end()) {
    Open &open = file->second;
    to(open.opening.file);
    if (!open.waiting && !std::exchange(open.moved, true)) {
      users_[open.opening.uid].moves.push_back(id);
      ++waiting_;
    }
  }
}

bool AnnouncementBacklog::ended(uid_t uid, EndedFile file) {
  const uint64_t id = file.placement_id;
  if (users_[uid].waiting() >= kMaxWaiting) { // crowded_by() stopped new placements long before
    const auto opened = open_.find(id);
    const bool never_reported = opened != open_.end() && opened->second.waiting &&
                                !opened->second.acknowledged && opened->second.opening.restore;
    open_.erase(id);
    return never_reported;
  }
  if (auto open = open_.extract(id)) {
    uid = open.mapped().opening.uid; // an end waits behind its opening
    open.mapped().moved = false;
    ending_.insert(std::move(open));
  }
  queue_ending({uid, std::move(file)}, false);
  return true;
}

// What was forgotten meanwhile is passed over.
void AnnouncementBacklog::take_one(OfUser &user, Batch &batch) {
  if (!user.openings.empty()) {
    Open *open = find(user.openings.front());
    user.openings.pop_front();
    if (open != nullptr && std::exchange(open->waiting, false)) {
      batch.opened.push_back(open->opening);
    }
  } else if (!user.endings.empty()) {
    batch.ended.push_back(std::move(user.endings.front()));
    user.endings.pop_front();
  } else {
    return;
  }
  --waiting_;
}

void AnnouncementBacklog::take_moves(OfUser &user, Batch &batch, size_t most) {
  for (most = std::min(most, user.moves.size()); most > 0; --most, --waiting_) {
    Open *open = find(user.moves.front());
    user.moves.pop_front();
    if (open != nullptr && std::exchange(open->moved, false)) {
      batch.opened.push_back(open->opening);
    }
  }
}

AnnouncementBacklog::Users::iterator AnnouncementBacklog::after(Users::iterator user) {
  const bool has_some = user->second.waiting() > 0 || !user->second.taken.empty();
  return has_some ? std::next(user) : users_.erase(user);
}

AnnouncementBacklog::Batch AnnouncementBacklog::take(size_t most) {
  Batch batch;
  size_t moves = 0;
  for (const auto &[uid, user] : users_) {
    moves += user.moves.size();
  }
  for (auto user = users_.lower_bound(next_); waiting_ > moves && batch.size() < most;) {
    if (user == users_.end()) {
      user = users_.begin();
    }
    next_ = user->first + 1;
    take_one(user->second, batch);
    user = after(user);
  }
  auto user = users_.lower_bound(next_);
  for (size_t turns = users_.size(); turns > 0 && batch.size() < most; --turns) {
    if (user == users_.end()) {
      user = users_.begin();
    }
    next_ = user->first + 1;
    take_moves(user->second, batch, std::min(kMaxMovesOfUser, most - batch.size()));
    user = after(user);
  }
  return batch;
}

std::optional<AnnouncementBacklog::Batch> AnnouncementBacklog::take_all(size_t most) {
  if (open_.size() + waiting() > most) {
    return std::nullopt;
  }
  Batch batch = take(most);
  batch.complete = true;
  std::unordered_set<uint64_t> listed;
  for (Opening &opening : batch.opened) {
    opening.restore = true;
    listed.insert(opening.file.placement_id);
  }
  for (const auto &[id, open] : open_) {
    if (!listed.contains(id)) {
      batch.opened.push_back(open.opening);
      batch.opened.back().restore = true;
    }
  }
  return batch;
}

std::vector<AnnouncementBacklog::Batch> AnnouncementBacklog::take_ended(size_t most) {
  report_unstored_again();
  std::vector<Batch> batches;
  std::unordered_set<uint64_t> ended;
  for (Batch batch = take(most); batch.size() > 0; batch = take(most)) {
    for (const Ending &ending : batch.ended) {
      ended.insert(ending.file.placement_id);
    }
    batches.push_back(std::move(batch));
  }
  for (Batch &batch : batches) {
    std::erase_if(batch.opened, [&](const Opening &opening) {
      return !ended.contains(opening.file.placement_id);
    });
    for (Opening &opening : batch.opened) {
      opening.restore = opening.file.origin != nullptr;
    }
  }
  std::erase_if(batches, [](const Batch &batch) { return batch.size() == 0; });
  return batches;
}

void AnnouncementBacklog::report_all_again() {
  for (auto &[id, open] : open_) {
    open.opening.restore = true;
    queue_opening(id, open, false);
  }
}

void AnnouncementBacklog::settle(Batch &batch, uint64_t number,
                                 const std::vector<uint64_t> &unknown,
                                 const std::vector<uint64_t> &refused) {
  const auto keep = [&](uid_t uid, uint64_t opened, std::optional<Ending> ended) {
    users_[uid].taken.push_back({number, opened, std::move(ended)});
    ++taken_;
  };
  std::unordered_set<uint64_t> unreported(unknown.begin(), unknown.end());
  const std::unordered_set<uint64_t> set_aside(refused.begin(), refused.end());
  for (const uint64_t id : refused) {
    unreported.erase(id);
    open_.erase(id);
    ending_.erase(id);
  }
  for (const Opening &opening : batch.opened) {
    const uint64_t id = opening.file.placement_id;
    if (Open *open = find(id)) {
      open->acknowledged = true;
      keep(opening.uid, id, std::nullopt);
      open->opening.restore = open->opening.restore && !opening.restore;
    }
    if (opening.restore) { // how it came about was reported
      unreported.erase(id);
    }
  }
  const auto is_reported_again = [&](std::unordered_map<uint64_t, Open> &map, uint64_t id) {
    const auto file = unreported.erase(id) > 0 ? map.find(id) : map.end();
    if (file == map.end() || !file->second.opening.file.origin) {
      return false;
    }
    file->second.opening.restore = true;
    queue_opening(id, file->second, false);
    return true;
  };
  for (Ending &ending : batch.ended) {
    EndedFile bare{ending.file.placement_id, ending.file.reason, std::nullopt, {}};
    if (set_aside.contains(bare.placement_id)) {
      if (ending.file.bytes_written || ending.file.achieved || !ending.file.path.empty()) {
        queue_ending({ending.uid, std::move(bare)}, false); // that it ended cannot be wrong
      }
    } else if (is_reported_again(ending_, bare.placement_id)) {
      queue_ending(std::move(ending), false);
    } else {
      keep(ending.uid, 0, std::move(ending));
    }
  }
  for (const uint64_t id : unknown) {
    (void)is_reported_again(open_, id);
  }
  while (taken_ > kMaxTaken) {
    forget_first_taken(std::ranges::max_element(users_, {}, [](const auto &user) {
                         return user.second.taken.size();
                       })->second);
  }
}

void AnnouncementBacklog::forget_first_taken(OfUser &user) {
  const Taken &first = user.taken.front();
  if (first.ended) {
    ending_.erase(first.ended->file.placement_id);
  } else if (Open *open = find(first.opened); open != nullptr && !open->waiting) {
    open->opening.file.choice.reset(); // stored, and large
  }
  user.taken.pop_front();
  --taken_;
}

void AnnouncementBacklog::stored(uint64_t number) {
  for (auto user = users_.begin(); user != users_.end(); user = after(user)) {
    while (!user->second.taken.empty() && user->second.taken.front().number <= number) {
      forget_first_taken(user->second);
    }
  }
}

void AnnouncementBacklog::report_unstored_again() {
  taken_ = 0;
  for (auto &[uid, user] : users_) {
    for (Taken &taken : std::exchange(user.taken, {})) {
      if (!taken.ended) {
        continue;
      }
      if (const auto ending = ending_.find(taken.ended->file.placement_id);
          ending != ending_.end()) {
        ending->second.opening.restore = ending->second.opening.file.origin != nullptr;
        queue_opening(ending->first, ending->second, false);
      }
      queue_ending(std::move(*taken.ended), false);
    }
  }
}

void AnnouncementBacklog::put_back(Batch batch) {
  for (auto ending = batch.ended.rbegin(); ending != batch.ended.rend(); ++ending) {
    next_ = ending->uid;
    queue_ending(std::move(*ending), true);
  }
  for (auto opening = batch.opened.rbegin(); opening != batch.opened.rend(); ++opening) {
    const uint64_t id = opening->file.placement_id;
    if (Open *open = find(id)) {
      open->opening.restore = opening->restore;
      queue_opening(id, *open, true);
      next_ = opening->uid;
    }
  }
}

void AnnouncementBacklog::drop(const Batch &batch) {
  for (const Ending &ending : batch.ended) {
    ending_.erase(ending.file.placement_id);
  }
}

} // namespace ses::agent
