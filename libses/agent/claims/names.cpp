#include "claims/names.h"

#include <fcntl.h>

#include "claims/lookup.h"

namespace ses::agent {
namespace {

constexpr size_t kMaxDirectories = 4096;
constexpr size_t kMaxProcesses = 64;
constexpr std::chrono::milliseconds kSearchEvery{200}; // through working directories

std::string name_in(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

// The directory of PATH, ending in a dot: then a link to a directory is followed.
std::string directory_in(const std::string &path) {
  return path.substr(0, path.rfind('/') + 1) + ".";
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

bool is_file(int handle, const FileId &id) {
  const auto facts = facts_of(handle);
  return facts && facts->id == id;
}

} // namespace

Names::Looked Names::in_directory(const ClaimedFile &file, bool is_process) {
  Looked looked;
  const std::string name = name_in(file.claim.path);
  if (name.empty() || !file.claim.directory || file.claim.directory->device != file.device) {
    return looked;
  }
  const Opened &directory = open_directory(file, is_process);
  looked.has_directory = static_cast<bool>(directory.handle);
  if (looked.has_directory) {
    looked.handle = open_below(directory.handle.get(), name);
    looked.path = directory.path + name;
  }
  if (!is_file(looked.handle.get(), file.claim.file)) {
    looked.handle.reset();
  }
  return looked;
}

const Names::Opened &Names::open_directory(const ClaimedFile &file, bool is_process) {
  const auto [known, first] = opened_.try_emplace(*file.claim.directory);
  Opened &opened = known->second;
  if (!first) {
    return opened;
  }
  const std::string path = directory_in(file.claim.path);
  const auto is_it = [&](UniqueFd handle) {
    if (is_file(handle.get(), *file.claim.directory)) {
      opened.path = path_of(handle.get());
      opened.handle = std::move(handle);
    }
    return !opened.path.empty();
  };
  bool matches = false;
  if (path.starts_with('/')) {
    const std::string rest = below(file.mount_point, path);
    matches = is_it(open_cached(file.uid, AT_FDCWD, path)) ||
              (!rest.empty() && is_it(open_below(open_mount_point(file.mount_point).get(), rest)));
  } else if (is_process) {
    const UniqueFd base = open_directory_of(file.claim.pid, file.claim.dirfd);
    matches = base && is_it(open_cached(file.uid, base.get(), path));
  }
  if (!matches) {
    opened.handle.reset();
    return opened;
  }
  opened.path += opened.path.ends_with('/') ? "" : "/";
  learn(file.mount_point, opened.path);
  return opened;
}

UniqueFd Names::handle_of(const ClaimedFile &file, bool is_process, bool is_orphan) {
  UniqueFd handle;
  const std::string &path = file.claim.path;
  const auto is_it = [&](UniqueFd candidate) {
    if (is_file(candidate.get(), file.claim.file)) {
      handle = std::move(candidate);
    }
    return static_cast<bool>(handle);
  };
  const auto is_below = [&](const UniqueFd &base, const std::string &rest) {
    return base && !rest.empty() &&
           (is_it(open_cached(file.uid, base.get(), rest)) ||
            (is_on(base.get(), file.device) && is_it(open_below(base.get(), rest))));
  };
  const auto is_in = [&](pid_t pid, int dirfd) {
    return is_below(open_directory_of(pid, dirfd), path);
  };
  if (path.empty()) {
    return handle;
  }
  if (path.starts_with('/')) {
    if (is_it(open_cached(file.uid, AT_FDCWD, path)) ||
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
  if (!path.starts_with('/') && is_orphan && Clock::now() >= search_at_) {
    search_at_ = Clock::now() + kSearchEvery;
    // The shell that started it is there still, as a rule.
    for (const pid_t pid : processes_of(file.uid, file.claim.pid, kMaxProcesses)) {
      if (is_in(pid, -1)) {
        learn(file.mount_point, path_of(handle.get()));
        return handle;
      }
    }
  }
  return handle;
}

void Names::learn(const std::string &mount_point, const std::string &path) {
  const std::string rest = below(mount_point, path);
  if (rest.empty()) {
    return;
  }
  Directory directory{mount_point, rest.substr(0, rest.rfind('/') + 1)};
  const std::lock_guard lock(mutex_);
  if (learned_.size() >= kMaxDirectories) {
    learned_.clear();
  }
  if (learned_.insert(directory).second) {
    to_look_at_.push_back(std::move(directory)); // when there is something to find
  }
}

void Names::look_at_directories() {
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
      if (directories_.size() >= kMaxDirectories) {
        directories_.clear();
      }
      directories_[facts->id] = std::move(directory);
    }
  }
}

} // namespace ses::agent
