#include "processes/survey.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "node/heartbeat.h"
#include "processes/identity.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kEvery{3};

std::set<uid_t> users_with_processes() {
  std::set<uid_t> users;
  const std::unique_ptr<DIR, int (*)(DIR *)> directory(opendir("/proc"), closedir);
  while (const dirent *entry = directory ? readdir(directory.get()) : nullptr) {
    struct stat status {};
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
        fstatat(dirfd(directory.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
      users.insert(status.st_uid);
    }
  }
  return users;
}

} // namespace

std::unique_ptr<NodeUsers> Survey::take() {
  const std::lock_guard lock(mutex_);
  return std::move(found_);
}

NodeUsers Survey::look() {
  const Turn turn(Duty::kSurvey);
  NodeUsers users;
  const uid_t self = geteuid();
  if (self != 0) {
    users.with_processes.insert(self);
  } else {
    users.with_processes = users_with_processes();
  }
  for (const std::string &user : jobs_.users()) {
    const bool number = user.find_first_not_of("0123456789") == std::string::npos;
    const auto uid = uid_of(number ? "uid-" + user : user);
    if (uid && (self == 0 || *uid == self)) {
      users.with_jobs.insert(*uid);
    }
  }
  return users;
}

std::chrono::nanoseconds Survey::work() {
  auto users = std::make_unique<NodeUsers>(look());
  const std::lock_guard lock(mutex_);
  found_ = std::move(users);
  return kEvery;
}

} // namespace ses::agent
