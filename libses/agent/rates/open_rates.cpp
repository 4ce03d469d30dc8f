#include "rates/open_rates.h"

#include <sys/inotify.h>

#include <algorithm>
#include <iterator>

#include "node/processor_time.h"

namespace ses::agent {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr milliseconds kFirst{100}, kMaxInterval{500};
constexpr milliseconds kYoung{50};    // younger ones are mostly closed before the next look
constexpr milliseconds kTogether{20}; // looks that are due within
constexpr double kPartOfAge = 0.05;
constexpr std::chrono::seconds kNotYoung{10};   // from where on kMaxInterval is less than that part
constexpr int kPause = 400, kPauseLater = 1000; // times as long as looks took of a processor
constexpr size_t kMaxAtOnce = 4096;             // files

double seconds(OpenRates::Time::duration time) { return duration<double>(time).count(); }

} // namespace

OpenRates::OpenRates() : modifies_(IN_MODIFY | IN_ONESHOT), accesses_(IN_ACCESS | IN_ONESHOT) {}

void OpenRates::add(File file, Time now) {
  const uint64_t placement = file.placement;
  const pid_t pid = file.pid;
  Followed followed;
  followed.created = now - duration_cast<Time::duration>(duration<double>(file.open_for));
  if (file.is_late) {
    followed.movement.begin_late();
    followed.size = facts_of(file.handle).value_or(FileFacts()).size;
  }
  followed.file = std::move(file);
  if (!files_.try_emplace(placement, std::move(followed)).second) {
    return;
  }
  Process &process = processes_[pid];
  process.files.insert(placement);
  schedule(pid, process, now);
}

void OpenRates::set_idle(uint64_t placement, bool idle, Time now) {
  const auto file = files_.find(placement);
  if (file == files_.end()) {
    return;
  }
  Followed &followed = file->second;
  followed.idle = idle; // look_at() lets go of it, unless a call goes on
  if (idle) {
    return;
  }
  Process &process = processes_[followed.file.pid];
  if (process.files.insert(placement).second) {
    followed.movement.resume(seconds(now - followed.created));
    if (process.files.size() == 1) {
      process.bytes = bytes_of(followed.file.pid);
    }
    schedule(followed.file.pid, process, now);
  }
}

// Sets of placements are in the order of creates, nearly.
bool OpenRates::is_young(const Process &process, Time now) const {
  return now - files_.at(*process.files.rbegin()).created < kNotYoung;
}

// The youngest file sets how soon.
void OpenRates::schedule(pid_t pid, Process &process, Time now) {
  looks_.erase({process.due, pid});
  if (process.files.empty()) {
    return;
  }
  const Time created = files_.at(*process.files.rbegin()).created;
  const auto interval = duration_cast<Time::duration>(kPartOfAge * (now - created));
  process.due = now + std::clamp<Time::duration>(interval, kFirst, kMaxInterval);
  looks_.emplace(process.due, pid);
}

std::optional<OpenRates::Time> OpenRates::due() const {
  return looks_.empty() ? std::nullopt
                        : std::optional(std::max(looks_.begin()->first, not_before_));
}

std::vector<IdleFiles::Grown> OpenRates::look(const std::vector<IdleFiles::Changed> &moved,
                                              Time now) {
  for (const auto &[placement, idle] : moved) {
    set_idle(placement, idle, now);
  }
  if (now < not_before_ || looks_.empty() || looks_.begin()->first > now) {
    return {};
  }
  const auto begun = processor_time();
  size_t looked_at = 0;
  bool some_young = false;
  while (!looks_.empty() && looks_.begin()->first <= now + kTogether && looked_at < kMaxAtOnce) {
    const pid_t pid = looks_.begin()->second;
    looks_.erase(looks_.begin());
    Process &process = processes_.at(pid);
    looked_at += process.files.size();
    some_young = some_young || is_young(process, now);
    look_at(pid, process, std::chrono::steady_clock::now());
    if (process.files.empty()) {
      processes_.erase(pid);
    }
  }
  not_before_ = now + (some_young ? kPause : kPauseLater) * (processor_time() - begun);
  return std::exchange(grown_, {});
}

OpenRates::Files OpenRates::files_of(const Process &process, Time now) {
  Files files;
  for (const uint64_t placement : process.files) {
    Followed &followed = files_.at(placement);
    if (followed.was_seen || now - followed.created >= kYoung) {
      files.emplace_back(placement, &followed);
    }
  }
  return files;
}

SeenFile OpenRates::see_size(Followed &followed, uint64_t placement,
                             const FileEvents::Happened &modified,
                             const FileEvents::Happened &accessed) {
  SeenFile seen;
  const auto facts = facts_of(followed.file.handle);
  const uint64_t size = facts ? facts->size : followed.size;
  seen.grown = size > followed.size ? size - followed.size : 0;
  followed.size = size;
  followed.reserved = facts ? facts->reserved : 0;
  seen.can_write = followed.can_write;
  seen.can_read = followed.can_read;
  seen.modified = modified.lost_some || modified.placements.contains(placement);
  seen.accessed = accessed.lost_some || accessed.placements.contains(placement);
  seen.mapped = followed.movement.is_mapped();
  return seen;
}

void OpenRates::look_at(pid_t pid, Process &process, Time now) {
  const Files files = files_of(process, now);
  const auto before = process.bytes;
  process.bytes = bytes_of(pid);
  std::optional<ProcessBytes> bytes;
  if (process.bytes) {
    bytes = process.bytes->since(before.value_or(ProcessBytes()));
  }
  const FileEvents::Happened modified = modifies_.read_all(), accessed = accesses_.read_all();
  std::vector<SeenFile> seen;
  uint64_t grown = 0;
  bool unknown = false, can_read = false;
  for (const auto &[placement, followed] : files) {
    seen.push_back(see_size(*followed, placement, modified, accessed));
    grown += seen.back().grown;
    if (seen.back().grown > 0) {
      grown_.push_back({placement, std::max(followed->size, followed->reserved)});
    }
    unknown = unknown || !followed->was_seen;
    can_read = can_read || followed->can_read;
  }
  const uint64_t wrote = bytes ? bytes->written() : grown, read = bytes ? bytes->read() : 1;
  const bool writes = !is_explained(wrote > grown ? wrote - grown : grown - wrote, wrote);
  // A descriptor may have been opened since to read what the others can only write.
  const bool reads =
      !is_explained(read, 0) && (can_read || now - process.searched_at >= kSearchEvery);
  const bool everywhere = writes || reads || !bytes;
  if (!everywhere) {
    move_positions(files, seen);
  }
  if (unknown || everywhere) {
    see_positions(pid, process, files, seen, everywhere, now);
  }
  if (bytes) {
    see_unfinished(pid, *process.bytes, *bytes, files, seen);
  }
  const std::vector<MovedBytes> moved = attribute(bytes, !before, seen);
  watch_unexplained(files, seen, writes, reads);
  enter(pid, files, moved, now);
  schedule(pid, process, now);
}

// A file grows while a call writes to it; positions and bytes of the process change only when the
// call has ended.  COUNTED: all bytes of the process as counted, MOVED: since the last look.
void OpenRates::see_unfinished(pid_t pid, const ProcessBytes &counted, const ProcessBytes &moved,
                               const Files &files, std::vector<SeenFile> &seen) {
  if (std::ranges::none_of(seen, [&](const SeenFile &file) { return is_silent(moved, file); })) {
    return;
  }
  const BusyDescriptors busy = busy_descriptors_of(pid);
  const auto writes = [&](const DescriptorInfo &descriptor) {
    return busy.writing.contains(descriptor.fd);
  };
  const auto later = bytes_of(pid); // last: a call that is not seen to go on has ended by now
  for (size_t i = 0; i < files.size(); ++i) {
    seen[i].unfinished =
        is_silent(moved, seen[i]) && (std::ranges::any_of(files[i].second->descriptors, writes) ||
                                      (later && !is_silent(later->since(counted), seen[i])));
  }
}

// The next look may explain what this one does not, also of a file that grows by holes only now and
// then.
void OpenRates::watch_unexplained(const Files &files, const std::vector<SeenFile> &seen,
                                  bool writes, bool reads) {
  std::vector<FileEvents::Wanted> modified, accessed;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto &[placement, followed] = files[i];
    if (writes && seen[i].can_write && seen[i].written_on == 0 && !modifies_.watches(placement)) {
      modified.push_back({placement, followed->file.handle});
    }
    if (reads && seen[i].can_read && seen[i].read_on == 0 && !accesses_.watches(placement)) {
      accessed.push_back({placement, followed->file.handle});
    }
  }
  (void)modifies_.add(modified);
  (void)accesses_.add(accessed);
}

void OpenRates::enter(pid_t pid, const Files &files, const std::vector<MovedBytes> &moved,
                      Time now) {
  std::optional<BusyDescriptors> busy; // asked once, where something stands still
  for (size_t i = 0; i < files.size(); ++i) {
    const auto &[placement, followed] = files[i];
    bool writing = false, reading = false, synchronizing = false;
    if (moved[i].written == 0 && moved[i].read == 0) {
      if (!busy) {
        busy = busy_descriptors_of(pid);
      }
      for (const DescriptorInfo &descriptor : followed->descriptors) {
        writing = writing || busy->writing.contains(descriptor.fd);
        reading = reading || busy->reading.contains(descriptor.fd);
        synchronizing = synchronizing || busy->synchronizing.contains(descriptor.fd);
      }
    }
    if (followed->synchronizing && !synchronizing && moved[i].written == 0) {
      followed->movement.synchronized();
    }
    followed->synchronizing = synchronizing;
    followed->was_seen = true;
    followed->movement.add(seconds(now - followed->created), moved[i], writing, reading);
    if (followed->idle && !followed->movement.moves()) {
      processes_.at(pid).files.erase(placement);
    }
  }
}

std::shared_ptr<const Achieved> OpenRates::end(uint64_t placement, uint64_t size, Time now) {
  const auto file = files_.find(placement);
  if (file == files_.end()) {
    return nullptr;
  }
  modifies_.remove(placement);
  accesses_.remove(placement);
  Followed followed = std::move(file->second);
  files_.erase(file);
  const pid_t pid = followed.file.pid;
  if (const auto process = processes_.find(pid); process != processes_.end()) {
    process->second.files.erase(placement);
    if (process->second.files.empty()) {
      looks_.erase({process->second.due, pid});
      processes_.erase(process);
    }
  }
  const double open_for = seconds(now - followed.created);
  if (!followed.was_seen && !followed.file.is_late) {
    return never_seen(size, open_for);
  }
  const bool synchronizing = followed.synchronizing && size <= followed.size;
  if (synchronizing) {
    followed.movement.synchronized();
  }
  auto achieved = std::make_shared<Achieved>(
      followed.movement.end(open_for, size > followed.size ? size - followed.size : 0, size));
  if (followed.durable || synchronizing) {
    achieved->on_device = achieved->written;
  } else if (!achieved->is_small()) {
    if (const auto unwritten = unwritten_.of(followed.file.target, now)) {
      const uint64_t there = achieved->written - std::min(achieved->written, *unwritten);
      achieved->on_device = std::max(achieved->on_device.value_or(0), there);
    }
  }
  return achieved;
}

std::shared_ptr<const Achieved> OpenRates::never_seen(uint64_t size, double open_for) {
  auto achieved = std::make_shared<Achieved>();
  achieved->written = size;
  achieved->open_seconds = std::max(open_for, 0.0);
  achieved->writing_seconds = size > 0 ? achieved->open_seconds : 0;
  return achieved;
}

} // namespace ses::agent
