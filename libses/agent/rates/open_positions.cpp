// The positions of descriptors: which ones refer to a file, and how far each went on.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "rates/open_rates.h"

namespace ses::agent {
namespace {

constexpr size_t kMaxDescriptors = 4096; // of a process that are searched
constexpr size_t kMaxOfFile = 8;         // descriptors
constexpr int kSeen = 1 << 30;           // beside the flags of a descriptor that was looked at

} // namespace

// Which descriptors refer to FILES: one look at all of the process.
void OpenRates::search(pid_t pid, const Files &files) {
  std::set<dev_t> devices;
  for (const auto &[placement, followed] : files) {
    devices.insert(followed->file.id.device);
  }
  size_t looked_at = 0;
  std::map<FileId, std::vector<int>> open;
  for (const OpenDescriptor &descriptor :
       descriptors_on(pid, devices, kMaxDescriptors, looked_at)) {
    open[descriptor.file].push_back(descriptor.fd);
  }
  for (const auto &[placement, followed] : files) {
    std::vector<DescriptorInfo> descriptors;
    for (const int fd : open[followed->file.id]) {
      const auto known =
          std::ranges::find(followed->descriptors, fd, [](const auto &info) { return info.fd; });
      if (descriptors.size() < kMaxOfFile) {
        descriptors.push_back(known != followed->descriptors.end() ? *known
                                                                   : DescriptorInfo{fd, 0, 0, 0});
      }
    }
    followed->descriptors = std::move(descriptors);
  }
}

// What became of the positions of one file's descriptors; false when none of them refers to it.
bool OpenRates::see_positions(pid_t pid, Followed &followed, SeenFile &seen) {
  const auto refers_to_it = [&](const DescriptorInfo &at) {
    if (at.inode == followed.file.id.inode) {
      return true;
    }
    const auto facts = facts_of(open_handle(pid, at.fd).get());
    return facts && facts->id == followed.file.id;
  };
  bool can_write = false, can_read = false, durable = true;
  std::vector<DescriptorInfo> now_there;
  for (const DescriptorInfo &before : followed.descriptors) {
    auto at = descriptor_of(pid, before.fd);
    if (!at || !refers_to_it(*at)) {
      continue;
    }
    const bool is_other = before.flags == 0 && followed.was_seen; // first seen now, opened before
    const uint64_t from = is_other && (at->can_write() || followed.movement.read() > 0)
                              ? at->position
                              : before.position;
    const uint64_t on = at->position - std::min(at->position, from);
    if (!at->can_read()) {
      seen.written_on = std::max(seen.written_on, on);
    } else if (!at->can_write()) {
      seen.read_on += on;
    } else if (on > seen.grown) { // written or read: the process's bytes decide
      const auto facts = facts_of(followed.file.handle);
      const bool at_end = facts && at->position >= facts->size; // appended since its size was read
      seen.modified = seen.modified || !at_end;
      seen.accessed = seen.accessed || !at_end;
    }
    can_write = can_write || at->can_write();
    can_read = can_read || at->can_read();
    durable = durable && (at->is_durable() || !at->can_write());
    at->flags |= kSeen;
    now_there.push_back(*at);
  }
  followed.descriptors = std::move(now_there);
  if (followed.descriptors.empty()) {
    return false;
  }
  followed.can_write = seen.can_write = can_write;
  followed.can_read = seen.can_read = can_read;
  followed.durable = durable && can_write;
  return true;
}

// The same of FILES; those whose descriptors are not known are looked for.
void OpenRates::see_positions(pid_t pid, Process &process, const Files &files,
                              std::vector<SeenFile> &seen, bool everywhere, Time now) {
  Files lost;
  std::vector<size_t> at;
  for (size_t i = 0; i < files.size(); ++i) {
    Followed &followed = *files[i].second;
    if (!everywhere && followed.was_seen) {
      continue;
    }
    if (followed.descriptors.empty() && followed.file.fd >= 0) {
      followed.descriptors.push_back({followed.file.fd, 0, 0, 0});
    }
    if (everywhere || !see_positions(pid, followed, seen[i])) {
      lost.push_back(files[i]);
      at.push_back(i);
    }
  }
  if (!lost.empty() && now - process.searched_at >= kSearchEvery) {
    process.searched_at = now;
    search(pid, lost);
  }
  for (size_t i = 0; i < lost.size(); ++i) {
    (void)see_positions(pid, *lost[i].second, seen[at[i]]);
  }
}

// Positions that are not looked at, since growth explains what was written, went on with it.
void OpenRates::move_positions(const Files &files, const std::vector<SeenFile> &seen) {
  for (size_t i = 0; i < files.size(); ++i) {
    for (DescriptorInfo &descriptor : files[i].second->descriptors) {
      if (descriptor.can_write() && !descriptor.can_read()) {
        descriptor.position += seen[i].grown;
      }
    }
  }
}

} // namespace ses::agent
