#include "announcements/announcement_backlog.h"

#include <unordered_set>
#include <utility>

namespace ses::agent {
namespace {

constexpr size_t kMostWaiting = 100000;
constexpr size_t kMostWaitingOfUid = 16384;
constexpr size_t kMostTaken = 20000; // openings and ends kept until stored, some 20 MB

} // namespace

bool AnnouncementBacklog::crowded_by(uid_t uid) const {
  const auto found = waiting_of_.find(uid);
  return waiting() >= kMostWaiting ||
         (found != waiting_of_.end() && found->second >= kMostWaitingOfUid);
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
    if (const auto found = map->find(id); found != map->end()) {
      return &found->second;
    }
  }
  return nullptr;
}

void AnnouncementBacklog::queue_opening(uint64_t id, Open &open, bool at_front) {
  if (open.waiting) {
    return;
  }
  open.waiting = true;
  ++waiting_of_[open.opening.uid];
  if (at_front) {
    openings_.push_front(id);
  } else {
    openings_.push_back(id);
  }
}

void AnnouncementBacklog::queue_ending(Ending ending, bool at_front) {
  ++waiting_of_[ending.uid];
  if (at_front) {
    endings_.push_front(std::move(ending));
  } else {
    endings_.push_back(std::move(ending));
  }
}

void AnnouncementBacklog::count_off(uid_t uid) {
  if (const auto found = waiting_of_.find(uid); --found->second == 0) {
    waiting_of_.erase(found);
  }
}

// Its place in the queue, if it has one, is passed over.
void AnnouncementBacklog::forget(std::unordered_map<uint64_t, Open> &map, uint64_t id) {
  const auto found = map.find(id);
  if (found == map.end()) {
    return;
  }
  if (found->second.waiting) {
    count_off(found->second.opening.uid);
  }
  map.erase(found);
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
  if (const auto found = open_.find(id); found != open_.end()) {
    found->second.opening.file.idle = idle;
    queue_opening(id, found->second, false);
  }
}

bool AnnouncementBacklog::ended(uid_t uid, EndedFile file) {
  const uint64_t id = file.placement_id;
  if (waiting() >= 2 * kMostWaiting) { // crowded_by() stopped new placements long before
    const auto found = open_.find(id);
    const bool never_told = found != open_.end() && found->second.waiting &&
                            !found->second.acknowledged && found->second.opening.restore;
    forget(open_, id);
    return never_told;
  }
  if (auto open = open_.extract(id)) {
    ending_.insert(std::move(open));
  }
  queue_ending({uid, std::move(file)}, false);
  return true;
}

AnnouncementBacklog::Batch AnnouncementBacklog::take(size_t most) {
  Batch batch;
  while (!openings_.empty() && batch.size() < most) {
    const uint64_t id = openings_.front();
    openings_.pop_front();
    Open *open = find(id);
    if (open == nullptr || !open->waiting) {
      continue;
    }
    open->waiting = false;
    count_off(open->opening.uid);
    batch.opened.push_back(open->opening);
  }
  while (openings_.empty() && !endings_.empty() && batch.size() < most) {
    count_off(endings_.front().uid);
    batch.ended.push_back(std::move(endings_.front()));
    endings_.pop_front();
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
  say_again();
  std::vector<Batch> batches;
  std::unordered_set<uint64_t> ended;
  for (Batch batch = take(most); batch.size() > 0; batch = take(most)) {
    for (const Ending &ending : batch.ended) {
      ended.insert(ending.file.placement_id);
    }
    batches.push_back(std::move(batch));
  }
  for (Batch &batch : batches) {
    std::erase_if(batch.opened,
                  [&](const Opening &one) { return !ended.contains(one.file.placement_id); });
    for (Opening &opening : batch.opened) {
      opening.restore = opening.file.origin != nullptr;
    }
  }
  std::erase_if(batches, [](const Batch &batch) { return batch.size() == 0; });
  return batches;
}

void AnnouncementBacklog::tell_all_again() {
  for (auto &[id, open] : open_) {
    open.opening.restore = true;
    queue_opening(id, open, false);
  }
}

void AnnouncementBacklog::settle(Batch &batch, uint64_t number,
                                 const std::vector<uint64_t> &unknown,
                                 const std::vector<uint64_t> &refused) {
  Taken taken;
  taken.number = number;
  std::unordered_set<uint64_t> untold(unknown.begin(), unknown.end());
  for (const Opening &opening : batch.opened) {
    const uint64_t id = opening.file.placement_id;
    if (Open *open = find(id)) {
      open->acknowledged = true;
      taken.opened.push_back(id);
      open->opening.restore = open->opening.restore && !opening.restore;
    }
    if (opening.restore) { // how it came about was said
      untold.erase(id);
    }
  }
  const auto is_told_again = [&](std::unordered_map<uint64_t, Open> &map, uint64_t id) {
    const auto found = untold.erase(id) > 0 ? map.find(id) : map.end();
    if (found == map.end() || !found->second.opening.file.origin) {
      return false;
    }
    found->second.opening.restore = true;
    queue_opening(id, found->second, false);
    return true;
  };
  for (Ending &ending : batch.ended) {
    if (is_told_again(ending_, ending.file.placement_id)) {
      queue_ending(std::move(ending), false);
    } else {
      taken.ended.push_back(std::move(ending));
    }
  }
  for (const uint64_t id : unknown) {
    (void)is_told_again(open_, id);
  }
  for (const uint64_t id : refused) {
    forget(open_, id);
  }
  if (taken.size() > 0) {
    files_taken_ += taken.size();
    taken_.push_back(std::move(taken));
  }
  while (files_taken_ > kMostTaken) {
    forget_first_taken();
  }
}

void AnnouncementBacklog::forget_first_taken() {
  for (const uint64_t id : taken_.front().opened) {
    if (Open *open = find(id); open != nullptr && !open->waiting) {
      open->opening.file.choice.reset(); // stored, and large
    }
  }
  for (const Ending &ending : taken_.front().ended) {
    forget(ending_, ending.file.placement_id);
  }
  files_taken_ -= taken_.front().size();
  taken_.pop_front();
}

void AnnouncementBacklog::stored(uint64_t number) {
  while (!taken_.empty() && taken_.front().number <= number) {
    forget_first_taken();
  }
}

void AnnouncementBacklog::say_again() {
  files_taken_ = 0;
  for (Taken &taken : std::exchange(taken_, {})) {
    for (Ending &ending : taken.ended) {
      if (const auto found = ending_.find(ending.file.placement_id); found != ending_.end()) {
        found->second.opening.restore = found->second.opening.file.origin != nullptr;
        queue_opening(found->first, found->second, false);
      }
      queue_ending(std::move(ending), false);
    }
  }
}

void AnnouncementBacklog::put_back(Batch batch) {
  for (auto ending = batch.ended.rbegin(); ending != batch.ended.rend(); ++ending) {
    queue_ending(std::move(*ending), true);
  }
  for (auto opening = batch.opened.rbegin(); opening != batch.opened.rend(); ++opening) {
    const uint64_t id = opening->file.placement_id;
    if (Open *open = find(id)) {
      open->opening.restore = opening->restore;
      queue_opening(id, *open, true);
    }
  }
}

void AnnouncementBacklog::drop(const Batch &batch) {
  for (const Ending &ending : batch.ended) {
    forget(ending_, ending.file.placement_id);
  }
}

} // namespace ses::agent
