#include "files/watcher.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "node/heartbeat.h"
#include "node/processor_time.h"
#include "processes/identity.h"
#include "service/json.h"

namespace ses::agent {
namespace {

constexpr int kPollMilliseconds = 500;
constexpr int kLookMilliseconds = 10000;
constexpr std::chrono::milliseconds kRoundEvery{50}; // the service gets no more reports than that
constexpr int kPause = 39;                           // times as long as a round used a processor
constexpr int kPauseOfArrivals = 4;                  // times as long as it took to follow them
constexpr size_t kHurry = 4096;                      // this many that arrived do not wait
constexpr std::chrono::milliseconds kMaxPause{1000};
constexpr size_t kMaxArrived = 65536;
constexpr size_t kMaxPolled = 4; // times as many as are watched

// epoll's data: one of these, or a pid.
constexpr uint64_t kClosed = 1ull << 32;
constexpr uint64_t kWake = 2ull << 32;
constexpr uint64_t kMoved = 3ull << 32;

} // namespace

Watcher::Watcher(Announcer &announcer, const WritingOut &writing_out,
                 const std::string &jobs_directory, size_t max_watched, int highest_handle)
    : announcer_(announcer), jobs_(jobs_directory), max_watched_(max_watched),
      highest_handle_(highest_handle), epoll_(epoll_create1(EPOLL_CLOEXEC)),
      closes_(IN_CLOSE_WRITE | IN_CLOSE_NOWRITE), closed_(writing_out),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), processes_(epoll_.get(), max_watched) {
  if (!add_to(epoll_.get(), closes_.descriptor(), kClosed)) {
    spdlog::warn("inotify cannot be used ({}); open files are looked at twice a second",
                 std::strerror(errno));
  }
  add_to(epoll_.get(), wake_.get(), kWake);
  add_to(epoll_.get(), idle_.descriptor(), kMoved);
  for (const int descriptor : closed_.descriptors()) {
    add_to(epoll_.get(), descriptor, kMoved);
  }
  thread_ = std::thread([this] { work(); });
}

Watcher::~Watcher() { stop(); }

size_t Watcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  go_on_.notify_all();
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) {
    thread_.join();
    take_over(); // what came last
    check(std::exchange(unchecked_, {}));
    report(Clock::time_point::max());
  }
  return files_.size();
}

void Watcher::watch(PlacedFile file) {
  std::vector<PlacedFile> files;
  files.push_back(std::move(file));
  watch(std::move(files));
}

void Watcher::watch(std::vector<PlacedFile> files) {
  if (files.empty()) {
    return;
  }
  std::vector<AnnouncementBacklog::Ending> lost;
  bool hurry = false;
  {
    const std::lock_guard lock(mutex_);
    for (PlacedFile &file : files) {
      size_t &of_user = arrived_of_[file.uid];
      if (of_user >= kMaxArrived / arrived_of_.size()) {
        lost.push_back({file.uid, {file.placement_id, EndReason::kLost, std::nullopt, {}}});
        continue;
      }
      if (file.handle.get() >= highest_handle_) {
        file.handle.reset(); // looked for again when its turn comes
        file.searched = false;
      }
      ++of_user;
      arrived_.push_back(std::move(file));
    }
    hurry = arrived_.size() >= kHurry;
  }
  if (hurry) {
    go_on_.notify_all();
  }
  announcer_.report({}, {}, std::move(lost));
  eventfd_write(wake_.get(), 1);
}

void Watcher::compare(std::vector<LedgerFile> files) {
  {
    const std::lock_guard lock(mutex_);
    to_compare_ = std::move(files);
  }
  eventfd_write(wake_.get(), 1);
}

int Watcher::milliseconds_to_next() const {
  int next = files_.empty() ? -1 : polled_.empty() ? kLookMilliseconds : kPollMilliseconds;
  for (const auto &due : {idle_.due(), rates_.due(), closed_.due()}) {
    if (due) {
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*due - Clock::now());
      const int left = static_cast<int>(std::clamp<long long>(wait.count(), 0, kLookMilliseconds));
      next = next < 0 ? left : std::min(next, left);
    }
  }
  return next;
}

void Watcher::work() {
  auto looked_at = Clock::now();
  while (!stopping_) {
    epoll_event events[64];
    const int count = epoll_wait(epoll_.get(), events, 64, milliseconds_to_next());
    const Turn turn(Duty::kWatcher);
    const auto begun = Clock::now();
    const auto used_before = processor_time();
    take_over();
    read_events();
    // Closes before exits: a file whose last descriptor went with its process has had its event.
    check(std::exchange(unchecked_, {}));
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 < kClosed) {
        process_gone(static_cast<pid_t>(events[i].data.u64));
      }
    }
    moved_ = idle_.look(Clock::now());
    for (const IdleFiles::Grown &grown : rates_.look(moved_, Clock::now())) {
      idle_.grew(grown.placement, grown.size, Clock::now());
    }
    const std::chrono::milliseconds pause(polled_.empty() ? kLookMilliseconds : kPollMilliseconds);
    if (Clock::now() - looked_at >= pause) {
      looked_at = Clock::now();
      look_around();
    }
    report(Clock::now());
    processes_.forget_idle(Clock::now());
    rest(begun, processor_time() - used_before);
  }
}

void Watcher::report_end(uid_t uid, uint64_t id, EndReason reason, std::optional<uint64_t> size,
                         std::string path) {
  ended_.push_back({uid, {id, reason, size, std::move(path)}});
}

// With what becomes of files that were closed, by NOW.
void Watcher::report(Clock::time_point now) {
  std::ranges::move(closed_.ended(now), std::back_inserter(ended_));
  std::ranges::move(closed_.look(now), std::back_inserter(moved_));
  announcer_.report(std::exchange(opened_, {}), std::exchange(moved_, {}),
                    std::exchange(ended_, {}));
  announcer_.grew(idle_.grown());
  announcer_.grew(std::exchange(closed_sizes_, {}));
}

// Looking at a process takes time in proportion to what it has open, so the next round waits for
// many times as long as this one USED a processor: however many files programs close, looking after
// them takes a fortieth of a core.  Files that arrive meanwhile may be other users': they are
// followed and announced without another look at what there was.
void Watcher::rest(Clock::time_point begun, Clock::duration used) {
  const auto until = std::max(begun + kRoundEvery,
                              Clock::now() + std::min<Clock::duration>(kPause * used, kMaxPause));
  for (auto next = begun + kRoundEvery;;) {
    {
      std::unique_lock lock(mutex_);
      const bool hurry = go_on_.wait_until(
          lock, std::min(next, until), [this] { return stopping_ || arrived_.size() >= kHurry; });
      if (hurry || Clock::now() >= until) {
        return;
      }
    }
    const auto before = processor_time();
    take_over();
    announcer_.report(std::exchange(opened_, {}), {}, std::exchange(ended_, {}));
    next = Clock::now() +
           std::max<Clock::duration>(kRoundEvery, kPauseOfArrivals * (processor_time() - before));
  }
}

void Watcher::take_over() {
  eventfd_t count = 0;
  (void)eventfd_read(wake_.get(), &count);
  std::vector<PlacedFile> arrived;
  std::optional<std::vector<LedgerFile>> to_compare;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
    arrived_of_.clear();
    to_compare.swap(to_compare_);
  }
  ProcessLooks looks;
  for (PlacedFile &file : arrived) {
    begin(std::move(file), looks);
  }
  watch_begun();
  if (to_compare) {
    compare_now(*to_compare);
  }
}

void Watcher::begin(PlacedFile file, ProcessLooks &looks) {
  if (!file.handle && !file.searched &&
      !file.closed) { // perhaps it lives on as another descriptor, as after a shell's redirection
    file.handle = find_handle(file.pid, file.id);
    if (file.handle && file.path.empty()) {
      file.path = path_of(file.handle.get());
    }
  }
  const uint64_t id = file.placement_id;
  const std::string job =
      file.job ? *file.job : looks.at(file.pid).job(file.uid, std::nullopt, jobs_);
  opened_.push_back({file.uid,
                     {id, file.path, file.id.device, file.id.inode, file.pid, wall_clock(),
                      file.application, job, file.origin, file.choice}});
  if (files_.contains(id) || is_past(file) || !(file.handle || file.closed)) {
    const bool exited = looks.at(file.pid).is_exiting();
    report_end(file.uid, id, exited ? EndReason::kExited : EndReason::kClosed);
    return;
  }
  if (file.closed) {
    was_closed(file, file.orphan ? EndReason::kExited : EndReason::kClosed, {});
    return;
  }
  const size_t of_user = files_of_[file.uid];
  const auto is_over = [&](size_t most) {
    return files_.size() >= most && of_user >= most / files_of_.size();
  };
  const bool crowded = of_user >= max_watched_ / 2 || is_over(max_watched_);
  if (is_over(kMaxPolled * max_watched_)) {
    spdlog::debug("placement {} is not followed: {} are already", format_id(id), files_.size());
    report_end(file.uid, id, EndReason::kLost);
    return;
  }
  if (crowded) {
    file.handle.reset(); // looked for in its process instead
  }
  ++files_of_[file.uid];
  const bool polled = !processes_.add(file.pid, id) || crowded;
  if (polled) {
    polled_.insert(id);
  } else {
    begun_.push_back({id, file.handle.get()});
  }
  placement_of_.try_emplace(file.id, id);
  files_.emplace(id, Watched{std::move(file), polled, false, false});
  unchecked_.insert(id); // it may have been closed before the watch was there
}

void Watcher::watch_begun() {
  std::erase_if(begun_, [&](const auto &begun) { return !files_.contains(begun.placement); });
  const auto failed = closes_.add(begun_);
  for (const auto &[id, handle] : std::exchange(begun_, {})) {
    Watched &watched = files_.at(id);
    const auto error = failed.find(id);
    if (error == failed.end()) {
      if (std::exchange(watched.polled, false)) {
        polled_.erase(id);
        unchecked_.insert(id); // as in begin()
      }
      idle_.add(id, handle, Clock::now());
      follow(watched.file);
      continue;
    }
    if (std::exchange(watched.polled, true)) {
      continue;
    }
    polled_.insert(id);
    if (error->second != ENOSPC && error->second != ENOMEM) { // mostly removed meanwhile
      spdlog::debug("placement {} is looked at twice a second: {}", format_id(id),
                    std::strerror(error->second));
    } else if (!std::exchange(logged_no_room_, true)) {
      spdlog::warn("inotify has no room ({}); looking at open files twice a second instead; "
                   "raise fs.inotify.max_user_watches",
                   std::strerror(error->second));
    }
  }
}

void Watcher::follow(const PlacedFile &file) {
  OpenRates::File followed{file.placement_id, file.handle.get(), file.id,      file.pid,
                           file.fd,           file.open_for(),   !file.choice, {}};
  if (file.choice && !file.choice->rows.empty()) {
    const auto &rows = file.choice->epoch->facts->rows;
    followed.target = rows.at(file.choice->rows.front()).target;
  }
  rates_.add(std::move(followed), Clock::now());
}

// The watched file of UID under that device and inode.  Only of UID: what one user reports ends
// nothing of another's.
Watcher::Files::iterator Watcher::watched_as(const FileId &id, uid_t uid) {
  const auto placement = placement_of_.find(id);
  const auto it = placement == placement_of_.end() ? files_.end() : files_.find(placement->second);
  return it != files_.end() && it->second.file.uid == uid ? it : files_.end();
}

// Another placement has a file with the device and inode of FILE, and is the later one; if it is
// the earlier one, it ends here.
bool Watcher::is_past(const PlacedFile &file) {
  const auto other = watched_as(file.id, file.uid);
  if (other == files_.end()) {
    return false;
  }
  if (!file.orphan) {
    end(other, EndReason::kClosed);
  }
  return file.orphan;
}

void Watcher::end(Files::iterator it, EndReason reason) {
  const uint64_t id = it->first;
  const Watched watched = std::move(it->second);
  files_.erase(it);
  if (const auto known = placement_of_.find(watched.file.id);
      known != placement_of_.end() && known->second == id) {
    placement_of_.erase(known);
  }
  if (const auto count = files_of_.find(watched.file.uid); --count->second == 0) {
    files_of_.erase(count);
  }
  polled_.erase(id);
  unchecked_.erase(id);
  closed_before_.erase(id);
  orphans_.erase(id);
  closes_.remove(id);
  idle_.remove(id);
  processes_.remove(watched.file.pid, id);
  was_closed(watched.file, reason,
             watched.file.handle ? path_of(watched.file.handle.get()) : watched.file.path);
}

// It may still be a stream; one that has no name any more is none.
void Watcher::was_closed(const PlacedFile &file, EndReason reason, std::string path) {
  const int handle = file.handle.get();
  const auto facts = facts_of(handle);
  const std::optional<uint64_t> size = facts ? std::optional(facts->size) : file.size;
  const uint64_t bytes = size.value_or(0);
  AnnouncementBacklog::Ending ending{file.uid,
                                     {file.placement_id, reason, size, std::move(path),
                                      file.closed
                                          ? OpenRates::never_seen(bytes, file.open_for())
                                          : rates_.end(file.placement_id, bytes, Clock::now())}};
  if (!size || (facts && facts->links == 0) || !file.choice ||
      !closed_.add(ending, handle, *file.choice, static_cast<double>(bytes), Clock::now())) {
    ended_.push_back(std::move(ending));
  } else {
    closed_sizes_.push_back({file.placement_id, bytes, true});
  }
}

} // namespace ses::agent
