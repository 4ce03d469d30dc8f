#include "files/closed_files.h"

#include <sys/inotify.h>

#include <utility>

namespace ses::agent {
namespace {

constexpr size_t kMaxFiles = 16384;
constexpr double kWorthFollowing = 1; // seconds of reading
constexpr std::chrono::seconds kFollowed{60}, kOpenAtMost{600};

} // namespace

// Who opened it before it was watched is seen by a read.
ClosedFiles::ClosedFiles(const WritingOut &writing_out)
    : writing_out_(writing_out), uses_(IN_OPEN | IN_CLOSE), reads_(IN_ACCESS | IN_ONESHOT) {}

std::vector<int> ClosedFiles::descriptors() const {
  return {uses_.descriptor(), reads_.descriptor()};
}

bool ClosedFiles::is_worth_following(const Choice &choice, double bytes) const {
  return writing_out_.lasts(choice, bytes, 0).reading >= kWorthFollowing;
}

bool ClosedFiles::add(AnnouncementBacklog::Ending &ending, int handle, const Choice &choice,
                      double bytes, Time now) {
  const uint64_t id = ending.file.placement_id;
  const std::chrono::duration<double> open_for = now - choice.decided;
  const WritingOut::Seconds seconds = writing_out_.lasts(choice, bytes, open_for.count());
  File file;
  file.followed = handle >= 0 && seconds.reading >= kWorthFollowing && files_.size() < kMaxFiles &&
                  uses_.add({{id, handle}}).empty() && reads_.add({{id, handle}}).empty();
  if (!file.followed && seconds.writing <= 0) {
    uses_.remove(id);
    return false;
  }
  const auto facts = facts_of(handle);
  file.id = facts ? facts->id : FileId();
  file.ending = std::move(ending);
  const auto writing = std::chrono::duration<double>(seconds.writing);
  const auto kept = files_.insert_or_assign(id, std::move(file)).first;
  stays_until(id, kept->second, now + std::chrono::duration_cast<Time::duration>(writing));
  return true;
}

void ClosedFiles::stays_until(uint64_t id, File &file, Time until) {
  file.until = until;
  due_.emplace(until, id);
}

void ClosedFiles::set_open(uint64_t id, bool open, Time now) {
  const auto known = files_.find(id);
  if (known == files_.end() || known->second.open == open) {
    return;
  }
  File &file = known->second;
  file.open = open;
  file.was_opened = file.was_opened || open;
  if (file.written) {
    changed_.push_back({id, !open});
    stays_until(id, file, now + (open ? kOpenAtMost : kFollowed));
  }
}

std::vector<IdleFiles::Changed> ClosedFiles::look(Time now) {
  const bool lost_some = uses_.read_each([&](uint64_t id, uint32_t kinds) {
    if ((kinds & IN_IGNORED) != 0) {
      set_gone(id, now);
    } else {
      set_open(id, (kinds & IN_OPEN) != 0, now);
    }
  });
  FileEvents::Happened read = reads_.read_all();
  std::erase_if(read.placements, [&](uint64_t id) {
    const auto file = files_.find(id);
    return file == files_.end() || file->second.open || file->second.was_opened;
  });
  if (lost_some || read.lost_some) {
    for (const auto &[id, file] : files_) {
      read.placements.insert(id);
    }
  }
  look_for(read.placements, now);
  return std::exchange(changed_, {});
}

// A read shows that a process had the file open, not that it still has: processes are looked at.
void ClosedFiles::look_for(const std::set<uint64_t> &placements, Time now) {
  std::set<FileId> wanted;
  for (const uint64_t id : placements) {
    wanted.insert(files_.at(id).id);
  }
  const std::set<FileId> open = wanted.empty() ? wanted : open_anywhere(wanted);
  for (const uint64_t id : placements) {
    set_open(id, open.contains(files_.at(id).id), now);
  }
}

void ClosedFiles::set_gone(uint64_t id, Time now) {
  if (const auto file = files_.find(id); file != files_.end()) {
    file->second.followed = false;
    stays_until(id, file->second, now);
  }
}

std::optional<ClosedFiles::Time> ClosedFiles::due() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

std::vector<AnnouncementBacklog::Ending> ClosedFiles::ended(Time by) {
  std::vector<AnnouncementBacklog::Ending> ended;
  while (!due_.empty() && due_.begin()->first <= by) {
    const uint64_t id = due_.begin()->second;
    due_.erase(due_.begin());
    const auto known = files_.find(id);
    if (known == files_.end() || known->second.until > by) {
      continue; // it has a later time as well
    }
    File &file = known->second;
    if (file.followed && by != Time::max() && !std::exchange(file.written, true)) {
      if (!file.open) {
        changed_.push_back({id, true});
      }
      stays_until(id, file, by + (file.open ? kOpenAtMost : kFollowed));
      continue;
    }
    uses_.remove(id);
    reads_.remove(id);
    ended.push_back(std::move(file.ending));
    files_.erase(known);
  }
  return ended;
}

} // namespace ses::agent
