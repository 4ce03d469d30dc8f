#include "files/closed_files.h"

#include <sys/inotify.h>

#include <utility>

namespace ses::agent {
namespace {

constexpr size_t kMost = 16384;
constexpr double kWorthFollowing = 1; // seconds of reading
constexpr std::chrono::seconds kFollowed{60}, kOpenAtMost{600};

} // namespace

// Who opened it before it was watched is seen by a read.
ClosedFiles::ClosedFiles(const WritingOut &writing_out)
    : writing_out_(writing_out), opens_(IN_OPEN), reads_(IN_ACCESS | IN_ONESHOT),
      closes_(IN_CLOSE_WRITE | IN_CLOSE_NOWRITE) {}

std::vector<int> ClosedFiles::descriptors() const {
  return {opens_.descriptor(), reads_.descriptor(), closes_.descriptor()};
}

bool ClosedFiles::add(AnnouncementBook::Ending &ending, int handle, const Choice &choice,
                      double bytes, Time now) {
  const uint64_t id = ending.file.placement_id;
  const std::chrono::duration<double> open_for = now - choice.decided;
  const WritingOut::Seconds seconds = writing_out_.lasts(choice, bytes, open_for.count());
  File file;
  file.followed = seconds.reading >= kWorthFollowing && files_.size() < kMost &&
                  closes_.add(handle, id) && opens_.add(handle, id) && reads_.add(handle, id);
  if (!file.followed && seconds.writing <= 0) {
    return false;
  }
  file.ending = std::move(ending);
  const auto writing = std::chrono::duration<double>(seconds.writing);
  const auto found = files_.insert_or_assign(id, std::move(file)).first;
  stays_until(id, found->second, now + std::chrono::duration_cast<Time::duration>(writing));
  return true;
}

void ClosedFiles::stays_until(uint64_t id, File &file, Time until) {
  file.until = until;
  due_.emplace(until, id);
}

void ClosedFiles::set_open(uint64_t id, bool open, Time now) {
  const auto found = files_.find(id);
  if (found == files_.end() || found->second.open == open) {
    return;
  }
  File &file = found->second;
  file.open = open;
  if (file.written) {
    changed_.push_back({id, !open});
    stays_until(id, file, now + (open ? kOpenAtMost : kFollowed));
  }
}

std::vector<IdleFiles::Changed> ClosedFiles::look(Time now) {
  for (FileEvents *events : {&opens_, &reads_}) {
    for (const uint64_t id : events->read_all().placements) {
      set_open(id, true, now);
    }
  }
  for (const uint64_t id : closes_.read_all().placements) {
    set_open(id, false, now);
  }
  return std::exchange(changed_, {});
}

std::optional<ClosedFiles::Time> ClosedFiles::due() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

std::vector<AnnouncementBook::Ending> ClosedFiles::ended(Time by) {
  std::vector<AnnouncementBook::Ending> ended;
  while (!due_.empty() && due_.begin()->first <= by) {
    const uint64_t id = due_.begin()->second;
    due_.erase(due_.begin());
    const auto found = files_.find(id);
    if (found == files_.end() || found->second.until > by) {
      continue; // it has a later time as well
    }
    File &file = found->second;
    if (file.followed && by != Time::max() && !std::exchange(file.written, true)) {
      if (!file.open) {
        changed_.push_back({id, true});
      }
      stays_until(id, file, by + (file.open ? kOpenAtMost : kFollowed));
      continue;
    }
    opens_.remove(id);
    reads_.remove(id);
    closes_.remove(id);
    ended.push_back(std::move(file.ending));
    files_.erase(found);
  }
  return ended;
}

} // namespace ses::agent
