#include "processes/idle_files.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "node/may_hang.h"
#include "processes/proc_files.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::seconds kIdleAfter{3};
constexpr uint64_t kLarge = 16 << 20;               // bytes
constexpr std::chrono::milliseconds kTogether{100}; // looks that are due within, before and after

// Has file systems report anew what facts_of() knows of HANDLES: of what is reserved beyond the end
// of a file the kernel learns nothing from FUSE otherwise.  One request to each file system,
// however many files.
void refresh(const std::vector<int> &handles) {
  std::map<dev_t, std::vector<std::shared_ptr<const UniqueFd>>> of_device;
  for (const int handle : handles) {
    if (const auto facts = facts_of(handle)) {
      of_device[facts->id.device].push_back(copy_of(handle));
    }
  }
  std::vector<std::pair<Subject, std::function<bool()>>> questions; // side by side: some may hang
  for (auto &[device, files] : of_device) {
    questions.emplace_back(storage_of(device), [files = std::move(files)] {
      struct statx status {};
      for (const auto &file : files) {
        (void)statx(file->get(), "", AT_EMPTY_PATH, STATX_SIZE | STATX_BLOCKS, &status);
      }
      return true;
    });
  }
  (void)all_that_may_hang(std::move(questions), kOfStorage);
}

} // namespace

IdleFiles::IdleFiles() : moves_(IN_MODIFY | IN_ACCESS | IN_ONESHOT) {}

void IdleFiles::add(uint64_t placement, int handle, Time now) {
  if (files_.try_emplace(placement, File{handle, 0, 0, now, {}, false, true}).second) {
    looks_.emplace_back(now + kLookEvery, placement);
  }
}

void IdleFiles::remove(uint64_t placement) {
  moves_.remove(placement);
  files_.erase(placement); // and its look is passed over
}

// An idle one is left to the event that comes with it.
void IdleFiles::grew(uint64_t placement, uint64_t size, Time now) {
  const auto file = files_.find(placement);
  if (file != files_.end() && !file->second.idle) {
    see(placement, file->second, size);
    file->second.moved_at = file->second.grew_at = now;
  }
}

void IdleFiles::see(uint64_t placement, File &file, uint64_t size) {
  file.size = size;
  if (size >= kLarge && size >= file.returned + file.returned / 4) {
    file.returned = size;
    grown_.push_back({placement, size});
  }
}

std::optional<IdleFiles::Time> IdleFiles::due() const {
  return looks_.empty() ? std::nullopt : std::optional(looks_.front().first + kTogether);
}

std::vector<IdleFiles::Changed> IdleFiles::look(Time now) {
  std::vector<Changed> changed;
  const FileEvents::Happened moved = moves_.read_all();
  const auto moves = [&](uint64_t id, File &file) {
    file.moved_at = now;
    file.asks = true;
    if (std::exchange(file.idle, false)) {
      changed.push_back({id, false});
      looks_.emplace_back(now + kLookEvery, id);
    }
  };
  for (const uint64_t id : moved.placements) {
    if (const auto file = files_.find(id); file != files_.end()) {
      moves(id, file->second);
    }
  }
  if (moved.lost_some) {
    for (auto &[id, file] : files_) {
      moves_.remove(id);
      moves(id, file);
    }
  }
  std::vector<uint64_t> still;
  std::vector<int> asking;
  std::vector<FileEvents::Wanted> unwatched;
  while (!looks_.empty() && looks_.front().first <= now + kTogether) {
    const uint64_t id = looks_.front().second;
    looks_.pop_front();
    const auto known = files_.find(id);
    if (known == files_.end()) {
      continue;
    }
    if (has_grown(id, known->second, now)) {
      looks_.emplace_back(now + kLookEvery, id);
      continue;
    }
    still.push_back(id);
    if (std::exchange(known->second.asks, false)) {
      asking.push_back(known->second.handle);
    }
    if (!moves_.watches(id)) {
      unwatched.push_back({id, known->second.handle});
    }
  }
  const auto failed = moves_.add(unwatched);
  refresh(asking);
  for (const uint64_t id : still) {
    File &file = files_.at(id);
    (void)has_grown(id, file, now);
    if (failed.contains(id)) {
      file.moved_at = now; // nobody would say when it moves again
    }
    if (now - file.moved_at >= kIdleAfter) {
      file.idle = true;
      changed.push_back({id, true});
    } else {
      looks_.emplace_back(now + kLookEvery, id);
    }
  }
  return changed;
}

// Since its last look.
bool IdleFiles::has_grown(uint64_t placement, File &file, Time now) {
  if (now - file.grew_at < kLookEvery) {
    return true;
  }
  const auto facts = facts_of(file.handle);
  if (!facts || std::max(facts->size, facts->reserved) == file.size) {
    return false;
  }
  see(placement, file, std::max(facts->size, facts->reserved));
  file.moved_at = now;
  return true;
}

} // namespace ses::agent
