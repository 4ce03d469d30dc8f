#include "rates/unwritten.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "node/mountinfo.h"
#include "processes/proc_files.h"

namespace ses::agent {
namespace {

constexpr std::chrono::milliseconds kKept{50};
constexpr std::chrono::seconds kMountsKept{10};
constexpr size_t kMaxKnown = 1024;

} // namespace

std::string device_at(const std::string &mountinfo, std::string_view path) {
  const std::vector<Mount> mounts = parse_mountinfo(mountinfo);
  const Mount *deepest = nullptr;
  for (const Mount &mount : mounts) { // of two on one place the later one is seen
    const std::string &place = mount.point;
    const bool is_there = path.starts_with(place) && (place == "/" || path.size() == place.size() ||
                                                      path[place.size()] == '/');
    if (is_there && (deepest == nullptr || place.size() >= deepest->point.size())) {
      deepest = &mount;
    }
  }
  return deepest == nullptr ? ""
                            : std::to_string(major(deepest->device)) + ":" +
                                  std::to_string(minor(deepest->device));
}

std::optional<uint64_t> kilobytes_of(std::string_view text,
                                     std::initializer_list<std::string_view> names) {
  std::optional<uint64_t> sum;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = std::min(line.find(':'), line.size());
    if (std::find(names.begin(), names.end(), std::string_view(line).substr(0, colon)) ==
        names.end()) {
      continue;
    }
    const size_t at = std::min(line.find_first_of("0123456789", colon), line.size());
    uint64_t value = 0;
    if (std::from_chars(line.data() + at, line.data() + line.size(), value).ec == std::errc()) {
      sum = sum.value_or(0) + value * 1024;
    }
  }
  return sum;
}

std::string Unwritten::device_of(const std::string &path, Time now) {
  if (now - devices_at_ >= kMountsKept || devices_.size() >= kMaxKnown) {
    devices_at_ = now;
    devices_.clear();
  }
  const auto [known, first] = devices_.try_emplace(path);
  if (first) {
    known->second = device_at(read_proc(root_ + "proc/self/mountinfo"), path);
  }
  return known->second;
}

std::optional<uint64_t> Unwritten::read_device(const std::string &device) const {
  return kilobytes_of(read_proc(root_ + "sys/kernel/debug/bdi/" + device + "/stats"),
                      {"BdiWriteback", "BdiReclaimable"});
}

// FSNAME-OST0000-osc-ffff…, in hexadecimal: the client's connection.
std::optional<uint64_t> Unwritten::read_ost(const std::string &target) const {
  unsigned index = 0;
  const char *end = target.data() + target.size();
  if (target.empty() || std::from_chars(target.data(), end, index).ptr != end) {
    return std::nullopt;
  }
  char name[32];
  std::snprintf(name, sizeof name, "-OST%04x-osc-", index);
  std::optional<uint64_t> sum;
  std::error_code error;
  for (const char *where : {"sys/fs/lustre/osc", "proc/fs/lustre/osc"}) {
    for (std::filesystem::directory_iterator at(root_ + where, error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().filename().string().find(name) != std::string::npos) {
        const std::string text = read_proc(at->path() / "cur_dirty_bytes");
        uint64_t value = 0;
        if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) {
          sum = sum.value_or(0) + value;
        }
      }
    }
  }
  return sum;
}

std::optional<uint64_t> Unwritten::read_node() const {
  return kilobytes_of(read_proc(root_ + "proc/meminfo"), {"Dirty", "Writeback"});
}

std::optional<uint64_t> Unwritten::of(const std::string &target, Time now) {
  const bool is_path = target.starts_with('/');
  const std::string device = is_path ? device_of(target, now) : target;
  if (known_.size() >= kMaxKnown) {
    known_.clear();
  }
  const auto [known, first] = known_.try_emplace(device);
  if (first || now - known->second.at >= kKept) {
    std::optional<uint64_t> bytes;
    if (!device.empty()) {
      bytes = is_path ? read_device(device) : read_ost(target);
    }
    known->second = {now, bytes ? bytes : read_node()};
  }
  return known->second.bytes;
}

} // namespace ses::agent
