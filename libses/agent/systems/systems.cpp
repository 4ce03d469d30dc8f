#include "systems/systems.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "lustre/targets.h"

namespace ses::agent {

std::string unescape_mount(const std::string &text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string digits = text.substr(i + 1, 3);
    if (text[i] == '\\' && digits.size() == 3 &&
        digits.find_first_not_of("01234567") == std::string::npos) {
      out += static_cast<char>(std::stoi(digits, nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string read_mountinfo() {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::map<std::string, dev_t> parse_mountinfo(const std::string &text) {
  std::map<std::string, dev_t> devices;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // 36 35 98:0 /root /mount/point options … - type source options
    std::istringstream fields(line);
    std::string id, parent, numbers, root, mount_point;
    unsigned major_number = 0, minor_number = 0;
    if (fields >> id >> parent >> numbers >> root >> mount_point &&
        std::sscanf(numbers.c_str(), "%u:%u", &major_number, &minor_number) == 2) {
      devices[unescape_mount(mount_point)] = makedev(major_number, minor_number);
    }
  }
  return devices;
}

namespace {

// All mounts of the Lustre that SYSTEM is, wherever they are.
void match_lustre(const std::string &mountinfo, const std::map<std::string, dev_t> &devices,
                  const StorageSystem &system, std::map<dev_t, StorageSystem> &matched) {
  std::string name = lustre_name_at(mountinfo, system.mount_point);
  name = name.empty() ? system.name : name;
  for (const auto &[mount_point, device] : devices) {
    if (lustre_name_at(mountinfo, mount_point) == name) {
      matched.try_emplace(device, system);
    }
  }
}

} // namespace

Systems::Systems() : mountinfo_(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)) {}

bool Systems::describe(std::vector<StorageSystem> systems) {
  const std::string mountinfo = read_mountinfo();
  const std::lock_guard lock(mutex_);
  systems_ = std::move(systems);
  described_ = true;
  return match(mountinfo);
}

bool Systems::reread_mounts() {
  const std::string mountinfo = read_mountinfo();
  const std::lock_guard lock(mutex_);
  return match(mountinfo);
}

bool Systems::match(std::string mountinfo) {
  const std::map<std::string, dev_t> devices = parse_mountinfo(mountinfo);
  std::map<dev_t, StorageSystem> matched;
  for (const StorageSystem &system : systems_) {
    const auto found = devices.find(system.mount_point);
    if (found != devices.end()) {
      matched[found->second] = system;
    }
    if (system.backend == SES_BACKEND_LUSTRE) {
      match_lustre(mountinfo, devices, system, matched);
    }
  }
  for (const auto &[device, system] : matched) {
    if (!by_device_.contains(device)) {
      spdlog::info("storage system {} is mounted at {} (device {}:{})", printable(system.name),
                   printable(system.mount_point), major(device), minor(device));
    }
  }
  for (const auto &[device, system] : by_device_) {
    if (!matched.contains(device)) {
      spdlog::info("storage system {} is no longer mounted at {}", printable(system.name),
                   printable(system.mount_point));
    }
  }
  const bool changed = by_device_ != matched;
  by_device_ = std::move(matched);
  return changed;
}

Systems::Answer Systems::find(dev_t device, StorageSystem &system) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_device_.find(device);
  if (found != by_device_.end()) {
    system = found->second;
    return Answer::kManaged;
  }
  return described_ ? Answer::kNotManaged : Answer::kNotKnownYet;
}

bool Systems::is_on(dev_t device, const std::string &name) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_device_.find(device);
  return found != by_device_.end() && found->second.name == name;
}

std::vector<StorageSystem> Systems::mounted(uint32_t backend) const {
  std::vector<StorageSystem> found;
  const std::lock_guard lock(mutex_);
  for (const auto &[device, system] : by_device_) {
    if (system.backend == backend) {
      found.push_back(system);
    }
  }
  return found;
}

std::vector<std::pair<dev_t, StorageSystem>> Systems::all_mounted() const {
  const std::lock_guard lock(mutex_);
  return {by_device_.begin(), by_device_.end()};
}

std::string Systems::mount_point_of(const std::string &name) const {
  const std::lock_guard lock(mutex_);
  for (const auto &[device, system] : by_device_) {
    if (system.name == name) {
      return system.mount_point;
    }
  }
  return "";
}

} // namespace ses::agent
