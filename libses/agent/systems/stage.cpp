#include "systems/stage.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>

#include "protocol/wire.h"
#include "ses/protocol.h"

namespace ses::agent {
namespace {

constexpr mode_t kTopMode = 0755;
constexpr mode_t kUserMode = 0744; // others may list it, and reach nothing in it
constexpr unsigned kMaxSwept = 10000;
constexpr time_t kUsedLately = 5;    // less than any node waits after the last process of a user
constexpr uid_t kFirstPerson = 1000; // below are accounts of the system, which people do not have

// The directory NAME in PARENT, itself and on the same file system, or an invalid descriptor.
UniqueFd open_below(int parent, const char *name) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, parent, name, &how, sizeof how)));
}

std::string failed(const std::string &path, const char *step) {
  return path + ": " + step + ": " + std::strerror(errno);
}

// Clears what DIRECTORY inherited from its parent; MODE has no set-group-id bit.
bool settle(int directory, mode_t mode) {
  if (fremovexattr(directory, "system.posix_acl_default") != 0 && errno != ENODATA &&
      errno != EOPNOTSUPP) {
    return false;
  }
  return fchmod(directory, mode) == 0;
}

using Entries = std::unique_ptr<DIR, int (*)(DIR *)>;

// What is in DIRECTORY; none on failure.  The descriptor stays the caller's.
Entries entries_of(int directory) {
  UniqueFd own(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Entries entries(own ? fdopendir(own.get()) : nullptr, closedir);
  if (entries) {
    static_cast<void>(own.release());
  }
  return entries;
}

// Nothing is in DIRECTORY but directories of users, named by their numbers.
bool has_only_users(int directory) {
  const Entries entries = entries_of(directory);
  while (const dirent *entry = entries ? readdir(entries.get()) : nullptr) {
    const std::string name = entry->d_name;
    struct stat status {};
    if (name != "." && name != ".." &&
        (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
         !S_ISDIR(status.st_mode) || name != std::to_string(status.st_uid))) {
      return false;
    }
  }
  return static_cast<bool>(entries);
}

struct Wanted {
  const char *name;
  uid_t owner;
  mode_t mode;
};

// Opens WANTED in PARENT, making it when it is not there, as IS_MADE says then.  Invalid on
// failure, with the reason in WHY.
UniqueFd ensure(int parent, const Wanted &wanted, const std::string &path, std::string &why,
                bool &is_made) {
  is_made = mkdirat(parent, wanted.name, kUserMode) == 0;
  if (!is_made && errno != EEXIST) {
    why = failed(path, "cannot be made");
    return UniqueFd();
  }
  UniqueFd directory = open_below(parent, wanted.name);
  struct stat status {};
  if (!directory || fstat(directory.get(), &status) != 0) {
    why = failed(path, "is not a directory of the agent's; remove it");
    return UniqueFd();
  }
  const uid_t self = geteuid();
  // The agent's own entry is one it has just made, or was killed before it could hand over.
  const bool unfinished = status.st_uid == self && self != wanted.owner;
  if (status.st_uid != wanted.owner && status.st_uid != 0 && !unfinished) {
    why = path + ": belongs to uid " + std::to_string(status.st_uid) + " instead of " +
          std::to_string(wanted.owner) + "; remove it";
    return UniqueFd();
  }
  // Else somebody who may rename here could have any directory of root's taken for the agent's.
  const bool is_mode = (status.st_mode & 07777) == wanted.mode;
  if ((status.st_uid != wanted.owner || (!is_mode && wanted.mode == kTopMode)) &&
      !has_only_users(directory.get())) {
    why = path + ": holds what the agent did not make; remove it";
    return UniqueFd();
  }
  if (status.st_uid != wanted.owner &&
      fchown(directory.get(), wanted.owner, static_cast<gid_t>(-1)) != 0) {
    why = failed(path, "cannot be given to its user");
    return UniqueFd();
  }
  if ((!is_mode || status.st_uid != wanted.owner) && !settle(directory.get(), wanted.mode)) {
    why = failed(path, "its mode cannot be set");
    return UniqueFd();
  }
  // A file system that stopped for errors does not say that it is read-only until it is written.
  if (fchmod(directory.get(), wanted.mode) != 0 && errno == EROFS) {
    why = failed(path, "cannot be written");
    return UniqueFd();
  }
  if (is_made) { // that is no use of it: see remove_stage()
    const time_t before = time(nullptr) - kUsedLately;
    const timespec times[] = {{before, 0}, {before, 0}};
    (void)futimens(directory.get(), times);
  }
  return directory;
}

unsigned sweep_directory(int directory, uid_t uid, time_t before, unsigned &looked_at) {
  const Entries entries = entries_of(directory);
  unsigned removed = 0;
  while (entries && looked_at < kMaxSwept) {
    const dirent *entry = readdir(entries.get());
    if (entry == nullptr) {
      break;
    }
    ++looked_at;
    struct stat status {};
    if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && status.st_uid == uid && status.st_ctime < before &&
        unlinkat(directory, entry->d_name, 0) == 0) {
      ++removed;
    }
  }
  return removed;
}

} // namespace

std::string stage_path(const std::string &target, uid_t uid) {
  return (target == "/" ? "" : target) + "/" SES_STAGE_DIRECTORY "/" + std::to_string(uid);
}

std::string swappable_by(const struct stat &status, const std::string &target, uid_t uid) {
  const uid_t owner = status.st_uid;
  if (owner >= kFirstPerson && owner != geteuid() && owner != uid) {
    return target + ": its owner, uid " + std::to_string(owner) +
           ", could put other directories there; mend it: chown root " + target;
  }
  // Rights that an ACL gives show as those of the group.
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return target + ": others can write it and rename what is not theirs; mend it: chmod +t " +
           target;
  }
  return "";
}

PreparedStage prepare_stage(const std::string &target, dev_t device, uid_t uid) {
  const UniqueFd branch(open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat root {};
  if (!branch || fstat(branch.get(), &root) != 0) {
    return {failed(target, "cannot be opened")};
  }
  if (root.st_dev != device) {
    return {target + ": another file system was mounted there, or its own no more"};
  }
  PreparedStage stage{swappable_by(root, target, uid)};
  if (!stage.why.empty()) {
    return stage;
  }
  const std::string top_path = target + "/" SES_STAGE_DIRECTORY;
  // A top directory made by root serves an agent that is not root, too.
  const UniqueFd existing = open_below(branch.get(), SES_STAGE_DIRECTORY);
  struct stat status {};
  const bool roots = existing && fstat(existing.get(), &status) == 0 && status.st_uid == 0;
  const uid_t top_owner = roots ? 0 : geteuid();
  stage.top = ensure(branch.get(), {SES_STAGE_DIRECTORY, top_owner, kTopMode}, top_path, stage.why,
                     stage.is_made);
  if (!stage.top) {
    return stage;
  }
  const std::string name = std::to_string(uid);
  const UniqueFd mine = ensure(stage.top.get(), {name.c_str(), uid, kUserMode},
                               top_path + "/" + name, stage.why, stage.is_made);
  return stage;
}

void remove_stage(const std::string &target, dev_t device, uid_t uid) {
  const UniqueFd branch(open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd top = branch ? open_below(branch.get(), SES_STAGE_DIRECTORY) : UniqueFd();
  const std::string name = std::to_string(uid);
  struct stat status {};
  struct stat mine {};
  if (top && fstat(top.get(), &status) == 0 && status.st_dev == device &&
      (status.st_uid == 0 || status.st_uid == geteuid()) &&
      fstatat(top.get(), name.c_str(), &mine, AT_SYMLINK_NOFOLLOW) == 0 &&
      time(nullptr) - mine.st_mtime >= kUsedLately &&
      unlinkat(top.get(), name.c_str(), AT_REMOVEDIR) == 0) {
    unlinkat(branch.get(), SES_STAGE_DIRECTORY, AT_REMOVEDIR); // fails while others have one in it
  }
}

unsigned sweep_stage(const std::string &target, std::chrono::seconds age) {
  const UniqueFd branch(open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd top = branch ? open_below(branch.get(), SES_STAGE_DIRECTORY) : UniqueFd();
  struct stat status {};
  if (!top || fstat(top.get(), &status) != 0 || (status.st_mode & 07777) != kTopMode ||
      (status.st_uid != 0 && status.st_uid != geteuid())) {
    return 0; // not the agent's
  }
  const time_t before = time(nullptr) - age.count();
  const Entries users = entries_of(top.get());
  unsigned removed = 0;
  unsigned looked_at = 0;
  while (users && looked_at < kMaxSwept) {
    const dirent *entry = readdir(users.get());
    if (entry == nullptr) {
      break;
    }
    ++looked_at;
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      const UniqueFd user = open_below(top.get(), entry->d_name);
      if (user && fstat(user.get(), &status) == 0 && std::to_string(status.st_uid) == name) {
        removed += sweep_directory(user.get(), status.st_uid, before, looked_at);
      }
    }
  }
  if (removed > 0) {
    spdlog::debug("removed {} files left over in {}/" SES_STAGE_DIRECTORY, removed, target);
  }
  return removed;
}

} // namespace ses::agent
