#include "claims/finder.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "claims/lookup.h"
#include "service_json.h"

namespace ses::agent {
namespace {

constexpr size_t kMostWaiting = 65536;
constexpr size_t kMostWaitingOfUid = 16384;
constexpr size_t kMostDirectories = 4096;
constexpr size_t kMostProcesses = 64;
constexpr std::chrono::milliseconds kLookEvery{200}; // through all processes

std::string name_in(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

// PATH as seen from MOUNT_POINT; empty when it is not below it.
std::string below(const std::string &mount_point, const std::string &path) {
  const std::string prefix = mount_point == "/" ? "/" : mount_point + "/";
  return path.starts_with(prefix) ? path.substr(prefix.size()) : "";
}

bool is_on(int directory, dev_t device) {
  const auto facts = facts_of(directory);
  return facts && facts->id.device == device;
}

} // namespace

Finder::Finder(Watcher &watcher, std::function<void(uid_t, uint64_t)> drop)
    : watcher_(watcher), drop_(std::move(drop)), thread_([this] { work(); }) {}

Finder::~Finder() { stop(std::chrono::milliseconds(0)); }

void Finder::stop(std::chrono::milliseconds limit) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      stopping_ = true;
      stop_by_ = Clock::now() + limit;
    }
  }
  wake_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Finder::find(ClaimedFile file) {
  {
    const std::lock_guard lock(mutex_);
    const auto queue = waiting_.find(file.uid);
    const size_t already = queue == waiting_.end() ? 0 : queue->second.size();
    if (count_ < kMostWaiting && already < kMostWaitingOfUid) {
      waiting_[file.uid].push_back(std::move(file));
      ++count_;
      wake_.notify_one();
      return;
    }
  }
  drop_(file.uid, file.placement_id);
}

void Finder::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto has_work = [&] { return stopping_ || count_ > 0; };
    if (orphans_.empty()) {
      wake_.wait(lock, has_work);
    } else {
      wake_.wait_until(lock, look_at_, has_work);
    }
    const bool done = stopping_ && (count_ == 0 || Clock::now() >= stop_by_);
    if (done || (!orphans_.empty() && Clock::now() >= look_at_)) {
      lock.unlock();
      hand_over_orphans();
      lock.lock();
    }
    if (done) {
      return;
    }
    if (count_ == 0) {
      continue;
    }
    auto turn = waiting_.upper_bound(last_turn_);
    if (turn == waiting_.end()) {
      turn = waiting_.begin();
    }
    last_turn_ = turn->first;
    ClaimedFile file = std::move(turn->second.front());
    turn->second.pop_front();
    --count_;
    if (turn->second.empty()) {
      waiting_.erase(turn);
    }
    lock.unlock();
    hand_over(std::move(file));
    lock.lock();
  }
}

void Finder::hand_over(ClaimedFile file) {
  PlacedFile placed;
  placed.placement_id = file.placement_id;
  placed.uid = file.uid;
  placed.id = file.claim.file;
  placed.application = file.claim.application;
  placed.origin = file.origin;
  placed.choice = file.choice;
  placed.searched = true;
  const bool is_process = is_process_of(file.claim.pid, file.uid);
  if (is_process) {
    placed.pid = file.claim.pid;
  }
  const Found found = look_for(file, is_process, placed.handle);
  if (found == Found::kStranger) {
    spdlog::debug("uid {} claimed a file that is not its own", file.uid);
    drop_(file.uid, file.placement_id);
    return;
  }
  if (placed.handle) {
    placed.path = path_of(placed.handle.get());
    learn(file.mount_point, placed.path);
  } else if (file.claim.path.starts_with('/')) {
    placed.path = file.claim.path;
  }
  if (is_process) {
    watcher_.watch(std::move(placed));
    return;
  }
  if (orphans_.empty()) {
    look_at_ = Clock::now() + kLookEvery;
  }
  orphans_.push_back(std::move(placed));
}

// Files whose process is gone, or has another number here: somebody may have them open all the
// same.  One look through all processes, however many files there are.
void Finder::hand_over_orphans() {
  std::set<FileId> wanted;
  for (const PlacedFile &file : orphans_) {
    wanted.insert(file.id);
  }
  const auto open = wanted.empty() ? std::map<FileId, OpenSomewhere>() : find_handles(wanted);
  for (PlacedFile &file : orphans_) {
    file.orphan = true;
    const auto found = open.find(file.id);
    const auto facts = found == open.end() ? std::nullopt : facts_of(found->second.handle.get());
    if (facts && facts->regular && (file.uid == 0 || facts->owner == file.uid)) {
      file.pid = found->second.pid;
      if (!file.handle) {
        file.handle.reset(fcntl(found->second.handle.get(), F_DUPFD_CLOEXEC, 0));
        file.path = path_of(file.handle.get());
      }
    }
    watcher_.watch(std::move(file));
  }
  orphans_.clear();
}

// Through the descriptor the program has, then by name, then through any other of its descriptors.
Finder::Found Finder::look_for(const ClaimedFile &file, bool is_process, UniqueFd &handle) {
  const auto judge = [&](UniqueFd candidate) {
    const auto facts = facts_of(candidate.get());
    if (!facts || facts->id != file.claim.file || !facts->regular) {
      return Found::kNothing;
    }
    if (file.uid != 0 && facts->owner != file.uid) {
      return Found::kStranger;
    }
    handle = std::move(candidate);
    return Found::kFile;
  };
  if (is_process) {
    if (const Found found = judge(open_handle(file.claim.pid, file.claim.fd));
        found != Found::kNothing) {
      return found;
    }
  }
  if (UniqueFd named = look_by_name(file, is_process)) {
    return judge(std::move(named));
  }
  return is_process ? judge(find_handle(file.claim.pid, file.claim.file)) : Found::kNothing;
}

UniqueFd Finder::look_by_name(const ClaimedFile &file, bool is_process) {
  UniqueFd handle;
  const std::string &path = file.claim.path;
  const auto is_it = [&](UniqueFd candidate) {
    const auto facts = facts_of(candidate.get());
    if (facts && facts->id == file.claim.file) {
      handle = std::move(candidate);
    }
    return static_cast<bool>(handle);
  };
  const auto is_below = [&](const UniqueFd &base, const std::string &rest) {
    return base && !rest.empty() &&
           (is_it(open_cached(base.get(), rest)) ||
            (is_on(base.get(), file.device) && is_it(open_below(base.get(), rest))));
  };
  const auto is_in = [&](pid_t pid, int dirfd) {
    return is_below(open_directory_of(pid, dirfd), path);
  };
  if (path.empty()) {
    return handle;
  }
  if (path.starts_with('/')) {
    if (is_it(open_cached(AT_FDCWD, path)) ||
        is_below(open_mount_point(file.mount_point), below(file.mount_point, path))) {
      return handle;
    }
  } else if (is_process && is_in(file.claim.pid, file.claim.dirfd)) {
    return handle;
  }
  if (file.claim.directory) {
    look_at_directories();
    const auto known = directories_.find(*file.claim.directory);
    if (known != directories_.end()) {
      const auto &[mount_point, directory] = known->second;
      if (is_below(open_mount_point(mount_point), directory + name_in(path))) {
        return handle;
      }
      const std::lock_guard lock(mutex_); // perhaps it is elsewhere now
      learned_.erase(known->second);
      directories_.erase(known);
    }
  }
  if (!path.starts_with('/') && !is_process && Clock::now() >= search_at_) {
    search_at_ = Clock::now() + kLookEvery;
    for (const pid_t pid : processes_of(file.uid, kMostProcesses)) {
      if (is_in(pid, -1)) {
        return handle;
      }
    }
  }
  return handle;
}

void Finder::learn(const std::string &mount_point, const std::string &path) {
  const std::string rest = below(mount_point, path);
  if (rest.empty()) {
    return;
  }
  Directory directory{mount_point, rest.substr(0, rest.rfind('/') + 1)};
  const std::lock_guard lock(mutex_);
  if (learned_.size() >= kMostDirectories) {
    learned_.clear();
  }
  if (learned_.insert(directory).second) {
    to_look_at_.push_back(std::move(directory)); // when there is something to find
  }
}

void Finder::look_at_directories() {
  std::vector<Directory> directories;
  {
    const std::lock_guard lock(mutex_);
    directories.swap(to_look_at_);
  }
  for (Directory &directory : directories) {
    const auto &[mount_point, path] = directory;
    const UniqueFd base = open_mount_point(mount_point);
    const UniqueFd handle = path.empty() ? UniqueFd() : open_below(base.get(), path);
    if (const auto facts = facts_of(path.empty() ? base.get() : handle.get())) {
      if (directories_.size() >= kMostDirectories) {
        directories_.clear();
      }
      directories_[facts->id] = std::move(directory);
    }
  }
}

} // namespace ses::agent
