#include "systems/systems.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/sysmacros.h>

#include "lustre/targets.h"
#include "node/mountinfo.h"

namespace ses::agent {

namespace {

// All mounts of the Lustre that SYSTEM is, wherever they are.
void match_lustre(const std::vector<Mount> &mounts, const Mount *own, const StorageSystem &system,
                  std::map<dev_t, StorageSystem> &matched) {
  std::string name = own != nullptr ? lustre_name_of(*own) : "";
  name = name.empty() ? system.name : name;
  for (const Mount &mount : mounts) {
    if (lustre_name_of(mount) == name && mounted_at(mounts, mount.point) == &mount) {
      matched.try_emplace(mount.device, system);
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

bool Systems::match(const std::string &mountinfo) {
  const std::vector<Mount> mounts = parse_mountinfo(mountinfo);
  std::map<dev_t, StorageSystem> matched;
  for (const StorageSystem &system : systems_) {
    const Mount *own = mounted_at(mounts, system.mount_point);
    if (own != nullptr) {
      matched[own->device] = system;
    }
    if (system.backend == SES_BACKEND_LUSTRE) {
      match_lustre(mounts, own, system, matched);
    }
  }
  for (const auto &[device, system] : matched) {
    if (!by_device_.contains(device)) {
      spdlog::info("storage system {} is mounted at {} (device {}:{})", system.name,
                   system.mount_point, major(device), minor(device));
    }
  }
  for (const auto &[device, system] : by_device_) {
    if (!matched.contains(device)) {
      spdlog::info("storage system {} is no longer mounted at {}", system.name, system.mount_point);
    }
  }
  const bool changed = by_device_ != matched;
  by_device_ = std::move(matched);
  return changed;
}

Systems::Answer Systems::find(dev_t device, StorageSystem &system) const {
  const std::lock_guard lock(mutex_);
  const auto managed = by_device_.find(device);
  if (managed != by_device_.end()) {
    system = managed->second;
    return Answer::kManaged;
  }
  return described_ ? Answer::kNotManaged : Answer::kNotKnownYet;
}

bool Systems::is_on(dev_t device, const std::string &name) const {
  const std::lock_guard lock(mutex_);
  const auto system = by_device_.find(device);
  return system != by_device_.end() && system->second.name == name;
}

std::vector<StorageSystem> Systems::mounted(uint32_t backend) const {
  std::vector<StorageSystem> systems;
  const std::lock_guard lock(mutex_);
  for (const auto &[device, system] : by_device_) {
    if (system.backend == backend) {
      systems.push_back(system);
    }
  }
  return systems;
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
