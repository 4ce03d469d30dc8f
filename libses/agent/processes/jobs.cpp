#include "processes/jobs.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>

#include "node/unique_fd.h"
#include "processes/identity.h"
#include "processes/proc_files.h"
#include "protocol/wire.h"
#include "ses/limits.h"

namespace ses::agent {
namespace {

constexpr size_t kMaxFile = 4096;
constexpr size_t kMaxJobUsers = 4096;

bool is_name(const std::string &text) {
  const auto is_first = [](unsigned char c) { return (c & 0xc0) != 0x80; }; // of a character
  return !text.empty() && std::ranges::count_if(text, is_first) <= SES_NAME_MAX &&
         printable(text) == text;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool is_trusted_alone(const struct stat &status) {
  return (status.st_uid == 0 || status.st_uid == geteuid()) &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// None for what is no regular file of root's or the agent's user, or too long.
std::optional<std::string> read_own(int directory, const char *name) {
  const UniqueFd file(
      openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_trusted_alone(status)) {
    return std::nullopt;
  }
  std::string text(kMaxFile + 1, '\0');
  const ssize_t length = read(file.get(), text.data(), text.size());
  if (length < 0 || static_cast<size_t>(length) > kMaxFile) {
    return std::nullopt;
  }
  text.resize(static_cast<size_t>(length));
  return text;
}

// The names of the first three directories of PATH; empty ones where there are fewer.
std::array<std::string_view, 3> first_names(std::string_view path) {
  std::array<std::string_view, 3> names;
  for (std::string_view &name : names) {
    path.remove_prefix(path.starts_with('/') ? 1 : 0);
    name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
  }
  return names;
}

// The number in TEXT behind PREFIX; empty when there is none, or something else.
std::string_view number_behind(std::string_view prefix, std::string_view text) {
  const auto number = text.substr(std::min(prefix.size(), text.size()));
  return text.starts_with(prefix) && is_number(number) ? number : std::string_view();
}

// As job_in(), for one control group.
std::optional<std::string> job_by_group(std::string_view path, uid_t uid) {
  const auto [first, second, third] = first_names(path);
  std::string_view job;
  if (first == "slurm" || first.starts_with("slurm_")) { // _NODE
    job = number_behind("job_", third);
    const auto user = number_behind("uid_", second);
    if (!job.empty() && user != std::to_string(uid)) {
      return user.empty() ? std::nullopt : std::optional<std::string>("");
    }
  } else if (first == "system.slice" &&
             (second == "slurmstepd.scope" || second.ends_with("_slurmstepd.scope"))) { // NODE_
    job = number_behind("job_", third);
  } else if (first == "pbspro") {
    job = second;
  } else if (first == "pbspro.service" || first == "pbs_jobs.service") {
    job = second == "jobid" ? third : "";
  } else if (first == "lsf" && third.starts_with("job.")) { // /CLUSTER/job.123.456
    job = third.substr(4, third.find('.', 4) - 4);
  }
  std::string sensible = sensible_job(std::string(job));
  return sensible.empty() ? std::nullopt : std::optional(std::move(sensible));
}

std::string read_in(const UniqueFd &directory, const char *name) {
  return read_proc("/proc/self/fd/" + std::to_string(directory.get()) + name);
}

// The job that a process was started with; empty: none, or it cannot be looked at now.
std::string job_by_environment(pid_t pid, const std::shared_ptr<UniqueFd> &process) {
  const std::string environment =
      look_at_process(pid, [process] { return read_in(*process, "/environ"); }).value_or("");
  for (size_t at = 0, end = 0; at < environment.size(); at = end + 1) {
    end = std::min(environment.find('\0', at), environment.size());
    const auto setting = std::string_view(environment).substr(at, end - at);
    for (const std::string_view name : {"SLURM_JOB_ID=", "PBS_JOBID=", "LSB_JOBID="}) {
      if (setting.starts_with(name) && setting.size() > name.size()) {
        return sensible_job(std::string(setting.substr(name.size())));
      }
    }
  }
  return "";
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
    if (name == "user" && user.empty() && is_name(value)) {
      user = value;
    } else if (name != "application" && name != "job") {
      return std::nullopt;
    }
  }
  return user.empty() ? std::nullopt : std::optional(user);
}

std::string sensible_job(const std::string &text) {
  const bool sensible = !text.empty() && text.size() < SES_JOB_MAX &&
                        std::all_of(text.begin(), text.end(), [](unsigned char c) {
                          return std::isalnum(c) != 0 || std::strchr("._-[]", c) != nullptr;
                        });
  return sensible ? text : "";
}

std::optional<std::string> job_in(std::string_view groups, uid_t uid) {
  std::istringstream lines{std::string(groups)}; // NUMBER:CONTROLLERS:/PATH
  for (std::string line; std::getline(lines, line);) {
    const size_t path = line.find(":/", line.find(':') + 1);
    if (path == line.npos || number_behind("", line.substr(0, line.find(':'))).empty()) {
      continue;
    }
    if (auto job = job_by_group(std::string_view(line).substr(path + 1), uid)) {
      return job;
    }
  }
  return std::nullopt;
}

bool Jobs::is_trusted(int directory) {
  struct stat status {};
  const bool trusted = fstat(directory, &status) == 0 && is_trusted_alone(status);
  if (!trusted && !std::exchange(logged_untrusted_, true)) {
    spdlog::warn("jobs directory {} is not used: it must belong to root or the agent's user "
                 "and be writable by nobody else",
                 directory_);
  }
  return trusted;
}

std::set<std::string> Jobs::users() {
  std::set<std::string> users;
  if (directory_.empty()) {
    return users;
  }
  UniqueFd fd(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
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
    if (!user && !std::exchange(logged_bad_file_, true)) {
      spdlog::warn(
          "file {} in the jobs directory is passed over: it is not as the plugin of Slurm or "
          "packaging/slurm writes it",
          entry->d_name);
    }
    if (user && users.size() < kMaxJobUsers) {
      users.insert(std::move(*user));
    }
  }
  return users;
}

std::optional<uid_t> Jobs::owner_of(const std::string &job) {
  const UniqueFd directory(
      directory_.empty() || job.empty() || job[0] == '.'
          ? -1
          : open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const auto text = directory && is_trusted(directory.get())
                        ? read_own(directory.get(), job.c_str())
                        : std::nullopt;
  const auto user = text ? parse_job(*text) : std::nullopt;
  return user ? uid_of(is_number(*user) ? "uid-" + *user : *user) : std::nullopt;
}

bool Jobs::has_control_group(const std::string &job) const {
  for (const char *form : {"/system.slice/*slurmstepd.scope/job_", "/*/slurm*/uid_*/job_"}) {
    glob_t matches{};
    const bool is_there = is_number(job) && glob((control_groups_ + form + job).c_str(),
                                                 GLOB_NOSORT, nullptr, &matches) == 0;
    globfree(&matches);
    if (is_there) {
      return true;
    }
  }
  return false;
}

std::string Jobs::job_of(pid_t pid, uid_t uid, std::optional<std::string> named) {
  // Stays with this process, even if another one gets its number when it is gone.
  const std::string number = "/proc/" + std::to_string(pid);
  const auto process =
      std::make_shared<UniqueFd>(open(number.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  const bool is_there = *process && fstat(process->get(), &status) == 0 && status.st_uid == uid;
  const auto group = is_there ? job_in(read_in(*process, "/cgroup"), uid) : std::nullopt;
  if (group) {
    return owner_of(*group).value_or(uid) == uid ? *group : "";
  }
  if (!named && is_there) {
    named = job_by_environment(pid, process);
  }
  const bool counts = named && owner_of(*named) == uid &&
                      !(is_there && has_control_group(*named) && !state_of(pid).exiting);
  return counts ? *named : "";
}

} // namespace ses::agent
