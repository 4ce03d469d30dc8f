#include "claims/jobs.h"

#include <dirent.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>

#include "node/identity.h"
#include "node/unique_fd.h"
#include "protocol/wire.h"

namespace ses::agent {
namespace {

constexpr size_t kLongestFile = 4096;
constexpr size_t kLongestName = 256;
constexpr size_t kMostJobUsers = 4096;

bool is_sensible(const std::string &text, size_t longest) {
  return !text.empty() && text.size() <= longest && printable(text) == text;
}

bool is_agents_alone(const struct stat &status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// None for what is no regular file of the agent's user, or too long.
std::optional<std::string> read_own(int directory, const char *name) {
  const UniqueFd file(
      openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_agents_alone(status)) {
    return std::nullopt;
  }
  std::string text(kLongestFile + 1, '\0');
  const ssize_t length = read(file.get(), text.data(), text.size());
  if (length < 0 || static_cast<size_t>(length) > kLongestFile) {
    return std::nullopt;
  }
  text.resize(static_cast<size_t>(length));
  return text;
}

} // namespace

std::optional<std::string> parse_job(const std::string &text) {
  std::string user;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (line.empty() || equals == std::string::npos) {
      return std::nullopt;
    }
    const std::string name = line.substr(0, equals), value = line.substr(equals + 1);
    if (name == "user" && user.empty() && is_sensible(value, kLongestName)) {
      user = value;
    } else if (name != "application" && name != "job") {
      return std::nullopt;
    }
  }
  return user.empty() ? std::nullopt : std::optional(user);
}

bool JobsDirectory::is_trusted(int directory) {
  struct stat status {};
  const bool trusted = fstat(directory, &status) == 0 && is_agents_alone(status);
  if (!trusted && !std::exchange(said_untrusted_, true)) {
    spdlog::warn("jobs directory {} is not used: it must belong to the agent's user and be "
                 "writable by nobody else",
                 path_);
  }
  return trusted;
}

std::set<std::string> JobsDirectory::users() {
  std::set<std::string> users;
  if (path_.empty()) {
    return users;
  }
  UniqueFd fd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd || !is_trusted(fd.get())) {
    return users;
  }
  const int directory = fd.get();
  const std::unique_ptr<DIR, int (*)(DIR *)> entries(fdopendir(fd.get()), closedir);
  if (entries) {
    static_cast<void>(fd.release());
  }
  while (const dirent *entry = entries ? readdir(entries.get()) : nullptr) {
    if (entry->d_name[0] == '.') { // also files that are still being written
      continue;
    }
    const auto text = read_own(directory, entry->d_name);
    auto user = text ? parse_job(*text) : std::nullopt;
    if (!user && !std::exchange(said_bad_file_, true)) {
      spdlog::warn("file {} in the jobs directory is passed over: it is not as packaging/slurm "
                   "writes it",
                   printable(entry->d_name));
    }
    if (user && users.size() < kMostJobUsers) {
      users.insert(std::move(*user));
    }
  }
  return users;
}

std::optional<uid_t> JobsDirectory::owner_of(const std::string &job) {
  const UniqueFd directory(
      path_.empty() || job.empty() || job[0] == '.'
          ? -1
          : open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const auto text = directory && is_trusted(directory.get())
                        ? read_own(directory.get(), job.c_str())
                        : std::nullopt;
  const auto user = text ? parse_job(*text) : std::nullopt;
  const bool is_number = user && user->find_first_not_of("0123456789") == std::string::npos;
  return user ? uid_of(is_number ? "uid-" + *user : *user) : std::nullopt;
}

} // namespace ses::agent
