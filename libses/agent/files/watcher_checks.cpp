// Which files are still open, asked when one was closed, its process ended, or time has passed, and
// of those that the ledger knows as open.
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "files/watcher.h"
#include "node/may_hang.h"
#include "processes/process_look.h"

namespace ses::agent {
namespace {

std::optional<uid_t> owner_of(const UniqueFd &file, dev_t device) {
  const int handle = fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
  return ask_storage(device,
                     [owned = std::make_shared<UniqueFd>(handle)]() -> std::optional<uid_t> {
                       struct stat status {};
                       return fstat(owned->get(), &status) == 0 ? std::optional(status.st_uid)
                                                                : std::nullopt;
                     })
      .value_or(std::nullopt);
}

} // namespace

void Watcher::read_events() {
  FileEvents::Happened closed = closes_.read_all();
  if (closed.lost_some) {
    for (const auto &[id, watched] : files_) {
      if (!watched.orphaned) { // those are looked for anyway
        closed.placements.insert(id);
      }
    }
  }
  for (const uint64_t id : closed.placements) {
    if (const auto it = files_.find(id); it != files_.end()) {
      it->second.notified = true;
      unchecked_.insert(id);
      if (!closed.lost_some && !it->second.orphaned) {
        closed_before_.insert(id);
      }
    }
  }
}

// Ends those of PLACEMENTS whose process does not have the file open any more, nor one it may have
// left it to.  Each process is looked at once, however many of its files were closed.
void Watcher::check(const std::set<uint64_t> &placements) {
  ProcessLooks looks;
  std::set<uint64_t> orphans, left;
  for (const uint64_t id : placements) {
    const auto it = files_.find(id);
    if (it == files_.end()) {
      continue;
    }
    auto &[file, polled, orphaned, notified] = it->second;
    if (orphaned) {
      orphans.insert(id);
      continue;
    }
    // The maker first: it closes the file after the other process has it.
    if (file.maker != 0 && looks.at(file.maker).has_open(file.id)) {
      continue;
    }
    ProcessLook &process = looks.at(file.pid);
    const bool was_closed = std::exchange(notified, false);
    if (!was_closed && process.has_at(file.fd, file.id)) {
      continue;
    }
    const bool has_it = polled ? process.has_moved(file.id) : process.has_open(file.id);
    if (has_it || process.child_with(file.id) != 0) {
      continue;
    }
    if (was_closed || !process.is_exiting()) {
      end(it, process.is_exiting() ? EndReason::kExited : EndReason::kClosed);
    } else { // it ended before a watch was there, perhaps after it left the file to another one
      left.insert(id);
    }
  }
  check_orphans(orphans, EndReason::kClosed);
  check_orphans(left, EndReason::kExited);
}

// Ends those of PLACEMENTS that no process has open any more; the others are nobody's in
// particular.
void Watcher::check_orphans(const std::set<uint64_t> &placements, EndReason reason) {
  if (placements.empty()) {
    return;
  }
  std::set<FileId> wanted;
  for (const uint64_t id : placements) {
    wanted.insert(files_.at(id).file.id);
  }
  const std::set<FileId> open = open_anywhere(wanted);
  for (const uint64_t id : placements) {
    const auto it = files_.find(id);
    if (!open.contains(it->second.file.id)) {
      end(it, reason);
    } else if (!it->second.orphaned) {
      orphaned(it);
    }
  }
  watch_begun();
}

void Watcher::orphaned(Files::iterator it) {
  const auto &[id, watched] = *it;
  it->second.orphaned = true;
  orphans_.insert(id);
  closed_before_.erase(id);
  if (watched.polled && watched.file.handle) { // its process was gone before it could be followed
    begun_.push_back({id, watched.file.handle.get()});
  }
}

void Watcher::process_gone(pid_t pid) {
  for (const uint64_t id : processes_.take(pid)) {
    const auto it = files_.find(id);
    if (it == files_.end()) {
      continue;
    }
    if (it->second.polled) {
      unchecked_.insert(id);
    } else { // no close event: a child still has it
      orphaned(it);
    }
  }
}

void Watcher::look_around() {
  for (const uint64_t id : closed_before_) {
    files_.at(id).notified = true;
  }
  check(std::set<uint64_t>(closed_before_));
  std::set<uint64_t> polled;
  std::ranges::set_difference(polled_, orphans_, std::inserter(polled, polled.end()));
  check(polled);
  for (const uint64_t id : polled_) { // there was no room, or a file system did not answer in time
    const PlacedFile &file = files_.at(id).file;
    if (file.handle && processes_.is_followed(file.pid)) {
      begun_.push_back({id, file.handle.get()});
    }
  }
  watch_begun();
  check_orphans(std::set<uint64_t>(orphans_), EndReason::kExited);
}

// One look through all processes, however many files there are.
void Watcher::compare_now(const std::vector<LedgerFile> &files) {
  std::set<FileId> wanted;
  for (const LedgerFile &file : files) {
    wanted.insert({file.device, file.inode});
  }
  std::map<FileId, OpenSomewhere> open = find_handles(wanted);
  size_t kept = 0;
  ProcessLooks looks;
  for (const LedgerFile &known : files) {
    const FileId id{known.device, known.inode};
    const auto holder = open.find(id);
    if (files_.contains(known.placement_id)) {
      continue;
    }
    std::optional<uid_t> uid = uid_of(known.user);
    if (!uid && holder != open.end()) { // the name service does not answer
      uid = owner_of(holder->second.handle, known.device);
    }
    if (holder == open.end() || !uid || watched_as(id, *uid) != files_.end()) {
      report_end(uid.value_or(0), known.placement_id, EndReason::kClosed, std::nullopt, known.path);
      continue;
    }
    PlacedFile file;
    file.placement_id = known.placement_id;
    file.uid = *uid;
    file.pid = holder->second.pid;
    file.id = id;
    file.handle = UniqueFd(fcntl(holder->second.handle.get(), F_DUPFD_CLOEXEC, 0));
    file.path = known.path;
    begin(std::move(file), looks);
    ++kept;
  }
  watch_begun();
  spdlog::info("of {} placed files that were open, {} still are", files.size(), kept);
  report(Clock::now());
  announcer_.compared();
}

} // namespace ses::agent
