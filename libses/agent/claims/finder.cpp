#include "claims/finder.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "node/heartbeat.h"

namespace ses::agent {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxWaiting = 65536;
constexpr size_t kMaxWaitingOfUid = 16384;
constexpr size_t kMaxInRound = 1024;    // of a user
constexpr size_t kHurry = 4096;         // this many do not wait for the next round
constexpr milliseconds kRoundEvery{10}; // a file of a short program is no stream after that
constexpr size_t kMaxOrphans = 4096;
constexpr int kRoundPause = 39;         // times as long as a round took
constexpr milliseconds kLookEvery{200}; // through all processes
constexpr int kLookPause = 19;
constexpr milliseconds kMaxPause{1000};

bool is_own(const FileFacts &facts, uid_t uid) { return uid == 0 || facts.owner == uid; }

// When to do again what began at BEGUN and took until now.
std::chrono::steady_clock::time_point next_after(std::chrono::steady_clock::time_point begun,
                                                 milliseconds every, int pause) {
  const auto now = std::chrono::steady_clock::now();
  const auto rest = std::min<std::chrono::steady_clock::duration>(pause * (now - begun), kMaxPause);
  return std::max(begun + every, now + rest);
}

} // namespace

Finder::Finder(Watcher &watcher, Exchange &exchange, const std::string &jobs_directory)
    : watcher_(watcher), exchange_(exchange), jobs_(jobs_directory), thread_([this] { work(); }) {}

Finder::~Finder() { stop(milliseconds(0)); }

void Finder::stop(milliseconds limit) {
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

void Finder::find(std::vector<ClaimedFile> files) {
  std::vector<Exchange::Ended> too_many;
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    for (ClaimedFile &file : files) {
      auto &queue = waiting_[file.uid];
      if (queue.size() >= std::min(kMaxWaitingOfUid, kMaxWaiting / waiting_.size())) {
        too_many.push_back({file.placement_id, false});
        continue;
      }
      queue.push_back(std::move(file));
      ++count_;
    }
    wake = idle_ ? count_ > 0 : count_ >= kHurry;
  }
  if (wake) {
    wake_.notify_one();
  }
  exchange_.ended(too_many);
}

// The next files of each user.
std::vector<ClaimedFile> Finder::next_round() {
  std::vector<ClaimedFile> files;
  files.reserve(std::min(count_, kMaxInRound * waiting_.size()));
  for (auto user = waiting_.begin(); user != waiting_.end();) {
    auto &queue = user->second;
    const auto count = static_cast<std::ptrdiff_t>(std::min(queue.size(), kMaxInRound));
    std::move(queue.begin(), queue.begin() + count, std::back_inserter(files));
    queue.erase(queue.begin(), queue.begin() + count);
    user = queue.empty() ? waiting_.erase(user) : std::next(user);
  }
  count_ -= files.size();
  return files;
}

void Finder::work() {
  Lock lock(mutex_);
  for (;;) {
    const auto has_work = [&] { return stopping_ || count_ > 0; };
    idle_ = true;
    if (orphans_.empty()) {
      wake_.wait(lock, has_work);
    } else {
      wake_.wait_until(lock, look_at_, has_work);
    }
    idle_ = false;
    const Turn turn(Duty::kFinder);
    const bool done = stopping_ && (count_ == 0 || Clock::now() >= stop_by_);
    const auto begun = Clock::now();
    std::vector<ClaimedFile> files = done ? std::vector<ClaimedFile>() : next_round();
    lock.unlock();
    look_for(std::move(files));
    const auto next = next_after(begun, kRoundEvery, kRoundPause);
    if (!orphans_.empty() && (done || Clock::now() >= look_at_)) {
      hand_over_orphans();
    }
    lock.lock();
    if (done) {
      return;
    }
    wake_.wait_until(lock, next, [this] { return stopping_ || count_ >= kHurry; });
  }
}

void Finder::look_for(std::vector<ClaimedFile> files) {
  ProcessLooks processes;
  std::vector<PlacedFile> placed_files;
  std::vector<IdleFiles::Changed> rest;
  placed_files.reserve(files.size());
  for (ClaimedFile &file : files) {
    PlacedFile placed;
    placed.placement_id = file.placement_id;
    placed.uid = file.uid;
    placed.id = file.claim.file;
    placed.searched = true;
    ProcessLook &process = processes.at(file.claim.pid);
    const Outcome how = look_for(file, process, placed);
    if (how == Outcome::kStranger) {
      spdlog::debug("uid {} claimed a file that is not its own", file.uid);
      exchange_.ended({{file.placement_id, false}});
      continue;
    }
    if (placed.path.empty() && file.claim.path.starts_with('/')) {
      placed.path = std::move(file.claim.path);
    }
    placed.application = std::move(file.claim.application);
    placed.origin = std::move(file.origin);
    placed.choice = std::move(file.choice);
    placed.job = process.job(file.uid, file.claim.job, jobs_);
    if (how != Outcome::kOrphan) {
      placed.pid = file.claim.pid;
      placed.fd = file.claim.fd;
      placed.closed = how == Outcome::kClosed;
      placed_files.push_back(std::move(placed));
      continue;
    }
    if (orphans_.empty()) {
      look_at_ = std::max(look_at_, Clock::now() + kLookEvery);
    }
    rest.push_back({placed.placement_id, true});
    orphans_.push_back(std::move(placed));
    if (orphans_.size() >= kMaxOrphans) { // each has a handle
      hand_over_orphans();
    }
  }
  exchange_.moved(rest);
  names_.forget();
  watcher_.watch(std::move(placed_files));
}

// Files whose process is gone, or has another number here: somebody may have them open all the
// same.  One look through all processes, however many files there are.
void Finder::hand_over_orphans() {
  const auto begun = Clock::now();
  std::set<FileId> wanted;
  for (const PlacedFile &file : orphans_) {
    wanted.insert(file.id);
  }
  const auto open = find_handles(wanted);
  std::vector<IdleFiles::Changed> streams;
  for (PlacedFile &file : orphans_) {
    file.orphan = true;
    const auto holder = open.find(file.id);
    const auto facts = holder == open.end() ? std::nullopt : facts_of(holder->second.handle.get());
    file.closed = !facts || !facts->regular || !is_own(*facts, file.uid);
    if (!file.closed) {
      streams.push_back({file.placement_id, false});
      file.pid = holder->second.pid;
      if (!file.handle) {
        file.handle.reset(fcntl(holder->second.handle.get(), F_DUPFD_CLOEXEC, 0));
        file.path = path_of(file.handle.get());
      }
    }
  }
  exchange_.moved(streams);
  watcher_.watch(std::exchange(orphans_, {}));
  look_at_ = next_after(begun, kLookEvery, kLookPause);
}

Finder::Outcome Finder::look_for(const ClaimedFile &file, ProcessLook &process,
                                 PlacedFile &placed) {
  const bool is_process = process.is_of(file.uid);
  const auto has = [&](const std::optional<FileFacts> &facts) {
    return facts && facts->id == file.claim.file && facts->regular;
  };
  if (is_process) {
    UniqueFd handle = open_in(file, process);
    if (const auto facts = facts_of(handle.get()); has(facts)) {
      placed.path = path_of(handle.get());
      placed.handle = std::move(handle);
      names_.learn(file.mount_point, placed.path);
      return is_own(*facts, file.uid) ? Outcome::kOpen : Outcome::kStranger;
    }
  }
  // A process that ends may have left the file to another one, like one that is not here.
  const bool is_orphan = !is_process || process.state().exiting;
  Names::Looked named;
  if (!is_orphan) {
    named = names_.in_directory(file, is_process);
  }
  if (!named.has_directory) {
    named.handle = names_.handle_of(file, is_process, is_orphan);
    named.path = path_of(named.handle.get());
  }
  const auto facts = facts_of(named.handle.get());
  if (facts && (!has(facts) || !is_own(*facts, file.uid))) {
    return Outcome::kStranger;
  }
  if (facts) {
    placed.size = facts->size;
    placed.path = std::move(named.path);
    const bool is_followed = named.has_directory && file.choice &&
                             watcher_.is_worth_following(*file.choice, facts->size);
    if (is_followed || !named.has_directory) {
      placed.handle = std::move(named.handle);
    }
  }
  return is_orphan ? Outcome::kOrphan : Outcome::kClosed;
}

// A handle through the descriptor the program made it by, else through any other of it or of its
// children.
UniqueFd Finder::open_in(const ClaimedFile &file, ProcessLook &process) {
  const FileId &id = file.claim.file;
  if (UniqueFd handle = process.take_at(file.claim.fd, id)) {
    return handle;
  }
  const pid_t holder = process.has_moved(id) ? file.claim.pid : process.child_with(id);
  return holder != 0 ? find_handle(holder, id) : UniqueFd();
}

} // namespace ses::agent
