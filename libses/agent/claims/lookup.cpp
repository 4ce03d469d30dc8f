#include "claims/lookup.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "processes/proc_files.h"

namespace ses::agent {
namespace {

UniqueFd open_with(int base, const std::string &path, uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = resolve | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, base, path.c_str(), &how, sizeof how)));
}

} // namespace

// Where a mount is crossed, some file systems ask their server in spite of RESOLVE_CACHED.
UniqueFd open_cached(uid_t uid, int base, const std::string &path) {
  const auto facts = facts_of(base);
  const std::string where = path.substr(0, path.rfind('/') + 1);
  auto handle = what_may_hang(
      {"path " + where + (facts ? " on device " + device_text(facts->id.device) : "") + " of uid " +
           std::to_string(uid),
       uid},
      [from = base < 0 ? nullptr : copy_of(base), path] {
        return open_with(from ? from->get() : AT_FDCWD, path, RESOLVE_CACHED);
      });
  return handle ? std::move(*handle) : UniqueFd();
}

UniqueFd open_below(int base, const std::string &path) {
  constexpr uint64_t kBelow = RESOLVE_BENEATH | RESOLVE_NO_XDEV;
  const auto facts = facts_of(base);
  if (!facts) {
    return UniqueFd();
  }
  if (!path.ends_with('.')) { // nor is a directory itself only looked up in memory
    UniqueFd cached = open_with(base, path, kBelow | RESOLVE_CACHED);
    if (cached || errno != EAGAIN) {
      return cached;
    }
  }
  auto handle = ask_storage(facts->id.device, [from = copy_of(base), path] {
    return open_with(from->get(), path, kBelow);
  });
  return handle ? std::move(*handle) : UniqueFd();
}

UniqueFd open_directory_of(pid_t pid, int dirfd) {
  const std::string process = "/proc/" + std::to_string(pid);
  const std::string link = dirfd < 0 ? process + "/cwd" : process + "/fd/" + std::to_string(dirfd);
  auto directory = look_at_process(
      pid, [link] { return UniqueFd(open(link.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); });
  return directory ? std::move(*directory) : UniqueFd();
}

UniqueFd open_mount_point(const std::string &path) {
  auto handle = what_may_hang(
      {"the mount point " + path},
      [path] { return UniqueFd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); },
      kOfStorage);
  return handle ? std::move(*handle) : UniqueFd();
}

bool is_process_of(pid_t pid, uid_t uid) {
  const auto owner = owner_of(pid);
  return owner && *owner == uid;
}

std::vector<pid_t> processes_of(uid_t uid, pid_t pid, size_t most) {
  std::vector<pid_t> all;
  const std::unique_ptr<DIR, int (*)(DIR *)> directory(opendir("/proc"), closedir);
  while (const dirent *entry = directory ? readdir(directory.get()) : nullptr) {
    if (const pid_t number = std::atoi(entry->d_name); number > 0) {
      all.push_back(number);
    }
  }
  // Numbers are given in turn, and after the last one from the first again.
  std::ranges::sort(all, {}, [pid](pid_t other) { return static_cast<uint32_t>(pid - other); });
  std::vector<pid_t> pids;
  for (size_t i = 0; i < all.size() && pids.size() < most; i++) {
    if (is_process_of(all[i], uid)) {
      pids.push_back(all[i]);
    }
  }
  return pids;
}

} // namespace ses::agent
