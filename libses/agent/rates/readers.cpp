#include "rates/readers.h"

#include <algorithm>
#include <cstdlib>

#include "node/heartbeat.h"
#include "node/processor_time.h"
#include "ses/limits.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kLookEvery{1}, kReaderSearchEvery{3}, kAskAgain{3}, kStaysFor{3};
constexpr std::chrono::seconds kMaxPause{10};
constexpr int kReaderPause = 400;       // times as long as a look took of a processor
constexpr uint64_t kReadsNoFile = 4096; // bytes: messages, for as long as a file stays read
constexpr std::chrono::milliseconds kNameTimeout{200};
constexpr size_t kMaxAskedAtOnce = 64; // processes
constexpr size_t kMaxLooks = 256;      // the same
constexpr size_t kMaxReaderDescriptors = 2048;
constexpr double kSame = 0.25;

} // namespace

bool is_alike(const std::vector<Reading> &a, const std::vector<Reading> &b) {
  return std::ranges::equal(a, b, [](const Reading &left, const Reading &right) {
    const double larger = std::max(left.bytes_per_second, right.bytes_per_second);
    return left.key() == right.key() && left.files == right.files &&
           std::abs(left.bytes_per_second - right.bytes_per_second) <= kSame * larger;
  });
}

std::vector<pid_t> to_ask(const std::set<pid_t> &processes, const AskedBefore &asked,
                          std::chrono::steady_clock::time_point now) {
  std::vector<std::pair<unsigned, pid_t>> ranked; // how often they were asked
  for (const pid_t pid : processes) {
    const auto known = asked.find(pid);
    if (known == asked.end()) {
      ranked.emplace_back(0, pid);
    } else if (const auto &[at, times] = known->second; now - at >= kAskAgain) {
      ranked.emplace_back(times, pid);
    }
  }
  std::ranges::sort(ranked, {},
                    [](const auto &entry) { return std::pair(entry.first, -entry.second); });
  std::vector<pid_t> next;
  for (size_t i = 0; i < std::min(ranked.size(), kMaxAskedAtOnce); ++i) {
    next.push_back(ranked[i].second);
  }
  return next;
}

std::chrono::nanoseconds Readers::work() {
  const auto begun = processor_time();
  const std::chrono::nanoseconds least =
      look(std::chrono::steady_clock::now()) ? kLookEvery : kReaderSearchEvery;
  const std::chrono::nanoseconds pause = kReaderPause * (processor_time() - begun);
  return std::clamp<std::chrono::nanoseconds>(pause, least, kMaxPause);
}

// Finds processes that read: among those that began since the last look, and the rest in turn.
void Readers::find_processes(const std::set<dev_t> &devices, Time now) {
  std::set<pid_t> present;
  for_each_number("/proc", [&](int, const char *name) {
    present.insert(std::atoi(name));
    return true;
  });
  std::erase_if(processes_, [&](const auto &process) { return !present.contains(process.first); });
  std::erase_if(others_, [&](const auto &process) { return !present.contains(process.first); });
  present.erase(getpid());
  std::erase_if(present, [&](pid_t pid) { return processes_.contains(pid); });
  for (const pid_t pid : to_ask(present, others_, now)) {
    const auto owner = owner_of(pid);
    size_t looked_at = 0;
    const bool reads =
        owner && !descriptors_on(pid, devices, kMaxReaderDescriptors, looked_at, true).empty();
    if (const auto name = reads ? names_.name_of(*owner, kNameTimeout) : std::nullopt) {
      processes_[pid].user = *name;
      processes_[pid].started = state_of(pid).started;
      others_.erase(pid);
    } else {
      auto &[at, times] = others_[pid];
      at = now;
      ++times;
    }
  }
}

// Since it was looked at; a little is left for the next time.
bool Readers::has_read(pid_t pid, Process &process, Time now) {
  const auto bytes = bytes_of(pid);
  const bool known = bytes && process.bytes && process.looked_at != Time();
  const ProcessBytes moved = known ? bytes->since(*process.bytes) : ProcessBytes();
  if (known && moved.rchar < kReadsNoFile && moved.fetched < kReadsNoFile) {
    if ((moved.rchar == 0 && moved.fetched == 0) || now - process.looked_at >= kStaysFor) {
      process.bytes = bytes;
      process.looked_at = now;
    }
    return false;
  }
  process.bytes_before = std::exchange(process.bytes, bytes);
  return true;
}

void Readers::look_at(pid_t pid, Process &process, const std::set<dev_t> &devices,
                      size_t &looked_at, Time now) {
  if (!has_read(pid, process, now)) {
    return;
  }
  const double passed = std::chrono::duration<double>(now - process.looked_at).count();
  const bool is_first = process.looked_at == Time();
  process.looked_at = now;
  for (auto &[fd, descriptor] : process.descriptors) {
    descriptor.was_found = false;
  }
  bool some_moved = false;
  for (const OpenDescriptor &open :
       descriptors_on(pid, devices, kMaxReaderDescriptors, looked_at, true)) {
    const auto info = descriptor_of(pid, open.fd);
    if (!info || !info->can_read()) {
      continue;
    }
    const auto [known, is_new] = process.descriptors.try_emplace(open.fd);
    Descriptor &descriptor = known->second;
    descriptor.was_found = true;
    if (is_new || descriptor.file != open.file) {
      descriptor = {open.file, {}, info->position, 0, {}, true};
    }
    if (!descriptor.place) {
      descriptor.place = parts_.place_of(open.file.device, open_handle(pid, open.fd).get());
    }
    const uint64_t on = info->position - std::min(info->position, descriptor.position);
    descriptor.position = info->position;
    if (on > 0 && !info->can_write() && !is_first) {
      descriptor.rate = static_cast<double>(on) / passed;
      descriptor.moved_at = now;
      some_moved = true;
    }
  }
  std::erase_if(process.descriptors,
                [](const auto &descriptor) { return !descriptor.second.was_found; });
  if (!some_moved && process.descriptors.size() == 1 && process.bytes_before && process.bytes &&
      !is_first) {
    const ProcessBytes bytes = process.bytes->since(*process.bytes_before);
    Descriptor &only = process.descriptors.begin()->second;
    if (!is_explained(bytes.read(), 0)) { // by pread() and the like
      only.rate = static_cast<double>(bytes.read()) / passed;
      only.moved_at = now;
    }
  }
}

std::vector<Reading> Readers::reading() const {
  std::map<std::tuple<std::string, std::string, std::string>, Reading> rows;
  std::set<FileId> files;
  for (const auto &[pid, process] : processes_) {
    for (const auto &[fd, descriptor] : process.descriptors) {
      files.insert(descriptor.file);
    }
  }
  const std::set<FileId> streams = files.empty() ? files : parts_.announced(files);
  for (const auto &[pid, process] : processes_) {
    for (const auto &[fd, descriptor] : process.descriptors) {
      if (!descriptor.place || descriptor.place->element.empty() ||
          streams.contains(descriptor.file) || descriptor.moved_at == Time() ||
          process.looked_at - descriptor.moved_at > kStaysFor) {
        continue;
      }
      const auto &[system, element] = *descriptor.place;
      Reading &row = rows[{system, element, process.user}];
      row.system = system;
      row.element = element;
      row.user = process.user;
      row.bytes_per_second += descriptor.rate;
      ++row.files;
    }
  }
  std::vector<Reading> reading;
  for (auto &[key, row] : rows) {
    if (reading.size() < SES_ANNOUNCED_READERS_MAX) {
      reading.push_back(std::move(row));
    }
  }
  return reading;
}

// True while there are processes to look at.
bool Readers::look(Time now) {
  const Turn turn(Duty::kReaders);
  const std::set<dev_t> devices = parts_.devices();
  if (devices.empty()) {
    processes_.clear();
  } else {
    find_processes(devices, now);
  }
  size_t looks = 0, looked_at = 0;
  auto next = processes_.upper_bound(last_); // in turn
  while (looks < std::min(processes_.size(), kMaxLooks) && looked_at < kMaxReaderDescriptors) {
    next = next == processes_.end() ? processes_.begin() : next;
    last_ = next->first;
    if (const uint64_t started = state_of(last_).started;
        started != 0 && started != next->second.started) { // another one has its number
      next = processes_.erase(next);
      continue;
    }
    look_at(next->first, next->second, devices, looked_at, std::chrono::steady_clock::now());
    ++looks;
    ++next;
  }
  std::vector<Reading> now_read = reading();
  if (!is_alike(now_read, reported_)) {
    reported_ = now_read;
    parts_.report(std::move(now_read));
  }
  return !processes_.empty();
}

} // namespace ses::agent
