#include "files/given_places.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <memory>
#include <set>
#include <string_view>

#include "node/heartbeat.h"
#include "node/processor_time.h"
#include "processes/identity.h"
#include "processes/proc_files.h"
#include "rates/process_io.h"
#include "service/json.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kLookEvery{1}, kLongestPause{10};
constexpr int kPauseOfPlaces = 40; // times as long as a round used a processor
constexpr std::chrono::seconds kSpaceEvery{10}, kReportEvery{60};
constexpr std::chrono::seconds kNamesWithin{20}; // then nobody has this name here
constexpr size_t kMaxEntries = 5000;             // of a directory that is added up
constexpr uint64_t kMuch = 16 << 20;             // bytes
constexpr double kLateSeconds = 10; // what was moved before the agent looked is not known
constexpr double kOwnPart = 0.8;    // of what the processes wrote lies in their directory
// The kernel writes out what was written 30 s before (dirty_expire_centisecs), each 5 s.
constexpr double kWrittenOut = 35;

double seconds_of(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

uint64_t pid_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

// It may be that /proc hides it.
bool lives(pid_t pid, uint64_t started) {
  const ProcessState state = state_of(pid);
  if (state.exiting && !owner_of(pid)) {
    return kill(pid, 0) == 0 || errno == EPERM;
  }
  return !state.exiting && (state.started == 0 || state.started == started);
}

ProcessBytes moved_by(pid_t pid) {
  ProcessBytes total;
  for (const pid_t member : family_of(pid)) {
    if (const auto bytes = bytes_of(member)) {
      total.rchar += bytes->rchar;
      total.wchar += bytes->wchar;
      total.fetched += bytes->fetched;
      total.dirtied += bytes->dirtied;
    }
  }
  return total;
}

// The directory BELOW another on the same file system, by a way without links.
std::unique_ptr<DIR, int (*)(DIR *)> list_below(int directory, const std::string &below) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  UniqueFd opened;
  for (size_t begin = 0; begin < below.size();) { // no more than PATH_MAX at once
    const bool is_rest = below.size() - begin < PATH_MAX;
    const size_t end = is_rest ? below.size() : below.rfind('/', begin + PATH_MAX - 1);
    const std::string part = below.substr(begin, end - begin);
    const int from = begin == 0 ? directory : opened.get();
    opened = UniqueFd(static_cast<int>(syscall(SYS_openat2, from, part.c_str(), &how, sizeof how)));
    begin = opened ? end + 1 : below.size();
  }
  std::unique_ptr<DIR, int (*)(DIR *)> listed(opened ? fdopendir(opened.get()) : nullptr, closedir);
  if (listed) {
    (void)opened.release(); // to it
  }
  return listed;
}

// None: it has more entries than are looked at, or cannot be read.  Three descriptors, however
// deep it is.
std::optional<uint64_t> space_in(const std::string &path) {
  const UniqueFd top(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  std::vector<std::string> directories = {"."}; // to be looked into
  size_t entries = 0;
  uint64_t space = 0;
  while (top && !directories.empty()) {
    const std::string at = std::move(directories.back());
    directories.pop_back();
    const auto listed = list_below(top.get(), at);
    while (const dirent *entry = listed ? readdir(listed.get()) : nullptr) {
      const std::string_view name = entry->d_name;
      struct stat status {};
      if (name == "." || name == ".." ||
          fstatat(dirfd(listed.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        continue;
      }
      if (++entries > kMaxEntries) {
        return std::nullopt;
      }
      space += static_cast<uint64_t>(status.st_blocks) * 512;
      if (S_ISDIR(status.st_mode)) {
        directories.push_back(at + "/" + entry->d_name);
      }
    }
  }
  return top ? std::optional(space) : std::nullopt;
}

// SPACE: the most bytes there were in a directory of its own; none: not known.
Achieved achieved_by(Movement &movement, double at, std::optional<uint64_t> space, bool is_late) {
  movement.add(at, {}, false, false);
  const uint64_t written = movement.written();
  Achieved achieved = movement.end(at, 0, written);
  achieved.gaps = is_late;
  // Processes may write elsewhere, too.
  achieved.shared = !space || static_cast<double>(*space) < kOwnPart * static_cast<double>(written);
  achieved.on_device = 0;
  for (const Sample &sample : achieved.samples) {
    if (sample.at <= at - kWrittenOut) {
      achieved.on_device = sample.written;
    }
  }
  return achieved;
}

} // namespace

GivenPlaces::GivenPlaces(Announcer &announcer)
    : announcer_(announcer), namespace_(pid_namespace()) {}

void GivenPlaces::take(std::vector<LedgerFile> places) {
  {
    const std::lock_guard lock(mutex_);
    std::ranges::move(places, std::back_inserter(arrived_));
  }
  thread_.wake();
}

void GivenPlaces::forget(const std::vector<uint64_t> &placements) {
  const std::lock_guard lock(mutex_);
  forgotten_.insert(forgotten_.end(), placements.begin(), placements.end());
}

std::chrono::nanoseconds GivenPlaces::work() {
  const Turn turn(Duty::kPlaces);
  const auto now = Clock::now();
  const auto used_before = processor_time();
  take_over(now);
  std::map<pid_t, ProcessBytes> moved;
  for (auto it = places_.begin(); it != places_.end();) {
    auto &[id, place] = *it;
    if (const auto [bytes, is_first] = moved.try_emplace(place.pid); is_first) {
      bytes->second = moved_by(place.pid);
    }
    if (lives(place.pid, place.started)) {
      const ProcessBytes more = moved[place.pid].since(place.before);
      place.before = moved[place.pid];
      place.movement.add(seconds_of(now - place.given), {more.written(), more.read()}, false,
                         false);
      look(id, place, now);
      ++it;
      continue;
    }
    it = end(it, now);
  }
  announcer_.report({}, {}, std::exchange(ended_, {}));
  announcer_.grew(std::exchange(grown_, {}));
  const auto pause = std::max<std::chrono::nanoseconds>(
      kLookEvery, kPauseOfPlaces * (processor_time() - used_before));
  return places_.empty() && now >= names_until_
             ? RepeatingThread::kUntilWoken
             : std::min<std::chrono::nanoseconds>(pause, kLongestPause);
}

GivenPlaces::Places::iterator GivenPlaces::end(Places::iterator it, Clock::time_point now) {
  Place &place = it->second;
  const Achieved achieved =
      achieved_by(place.movement, seconds_of(now - place.given), place.most, place.is_late);
  EndedFile ended{it->first, EndReason::kExited,
                  place.own_directory ? place.most : std::optional(achieved.written), place.path,
                  std::make_shared<const Achieved>(achieved)};
  ended_.push_back({place.uid, std::move(ended)});
  return places_.erase(it);
}

void GivenPlaces::take_over(Clock::time_point now) {
  std::vector<LedgerFile> arrived;
  std::vector<uint64_t> forgotten;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
    forgotten.swap(forgotten_);
  }
  for (const uint64_t id : forgotten) { // what was moved until then is reported all the same
    if (const auto it = places_.find(id); it != places_.end()) {
      end(it, now);
    }
  }
  std::vector<AnnouncementBacklog::Opening> opened;
  std::vector<LedgerFile> later; // whose users are not known yet
  for (LedgerFile &given : arrived) {
    const std::optional<uid_t> uid = uid_of(given.user);
    if (!uid) {
      later.push_back(std::move(given));
      continue;
    }
    if (given.place->pid_namespace != namespace_ ||
        places_.contains(given.placement_id)) { // the service asks again
      continue;
    }
    OpenedFile file;
    file.placement_id = given.placement_id;
    file.path = given.path;
    file.pid = given.pid;
    opened.push_back({*uid, std::move(file)});
    spdlog::debug("place {} lasts as long as process {}", format_id(given.placement_id), given.pid);
    Place place{.uid = *uid,
                .pid = given.pid,
                .started = given.place->started,
                .path = std::move(given.path),
                .own_directory = given.place->own_directory,
                .is_late = given.place->seconds > kLateSeconds,
                .before = moved_by(given.pid),
                .given = now - std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(given.place->seconds)),
                .begun = now};
    place.movement.resume(given.place->seconds);
    places_.emplace(given.placement_id, std::move(place));
  }
  announcer_.report(std::move(opened), {}, {});
  names_until_ = later.empty()                         ? Clock::time_point()
                 : names_until_ == Clock::time_point() ? now + kNamesWithin
                                                       : names_until_;
  if (now < names_until_) {
    const std::lock_guard lock(mutex_);
    std::ranges::move(later, std::back_inserter(arrived_));
    return;
  }
  announcer_.compared(true);
}

// The directory is added up now and then; the service learns of what changed, and now and then
// that the place is watched: it says then when it was released.
void GivenPlaces::look(uint64_t placement, Place &place, Clock::time_point now) {
  const auto every = std::min<Clock::duration>(kSpaceEvery, (now - place.begun) / 2);
  if (place.own_directory && now - place.looked_at >= every) {
    place.looked_at = now;
    const auto space = what_may_hang(
                           {"the place " + place.path, place.uid},
                           [path = place.path] { return space_in(path); }, kOfStorage)
                           .value_or(std::nullopt);
    place.space = space ? space : place.space;
    place.most = std::max(place.most, place.space);
  }
  const uint64_t space = place.space.value_or(0);
  const uint64_t change = std::max(space, place.reported) - std::min(space, place.reported);
  if (change >= std::max(kMuch, place.reported / 4) || now - place.reported_at >= kReportEvery) {
    place.reported = space;
    place.reported_at = now;
    grown_.push_back({placement, space, false});
  }
}

} // namespace ses::agent
