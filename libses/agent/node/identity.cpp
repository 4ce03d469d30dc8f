#include "node/identity.h"

#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <vector>

#include "node/may_hang.h"
#include "node/proc_files.h"
#include "protocol/wire.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kKept{60};
constexpr size_t kMostKnown = 10000;
constexpr size_t kMostAsked = 16; // at once: each has a thread, which may be lost
constexpr size_t kLongestEntry = 1u << 20;
constexpr size_t kLongestJob = 64;

// Empty: the name service fails just now.
std::string look_up(uid_t uid) {
  std::vector<char> buffer(4096);
  for (;;) {
    passwd entry{};
    passwd *found = nullptr;
    const int error = getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE && buffer.size() < kLongestEntry) {
      buffer.resize(buffer.size() * 2);
      continue;
    }
    if (error == 0 && found != nullptr && *found->pw_name != '\0') {
      return printable(found->pw_name);
    }
    return error == EIO || error == EAGAIN || error == ETIMEDOUT ? ""
                                                                 : "uid-" + std::to_string(uid);
  }
}

std::optional<uid_t> look_up(const std::string &name) {
  std::vector<char> buffer(4096);
  for (;;) {
    passwd entry{};
    passwd *found = nullptr;
    const int error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE && buffer.size() < kLongestEntry) {
      buffer.resize(buffer.size() * 2);
      continue;
    }
    return error == 0 && found != nullptr ? std::optional(found->pw_uid) : std::nullopt;
  }
}

} // namespace

std::optional<std::string> UserNames::name_of(uid_t uid, std::chrono::milliseconds patience) {
  const auto now = std::chrono::steady_clock::now();
  std::unique_lock lock(cache_->mutex);
  auto found = cache_->known.find(uid);
  if (found == cache_->known.end() || now >= found->second.until) {
    const bool others_wait = !cache_->asked.empty();
    if (cache_->asked.size() < kMostAsked && cache_->asked.insert(uid).second) {
      try {
        std::thread([cache = cache_, uid] { ask(*cache, uid); }).detach();
      } catch (const std::system_error &) { // no thread to be had: the next time
        cache_->asked.erase(uid);
      }
    }
    if (found == cache_->known.end() && !others_wait) {
      cache_->answered.wait_for(lock, patience, [&] { return !cache_->asked.contains(uid); });
      found = cache_->known.find(uid);
    }
  }
  return found == cache_->known.end() ? std::nullopt : std::optional(found->second.name);
}

void UserNames::ask(Cache &cache, uid_t uid) {
  const std::string name = look_up(uid);
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(cache.mutex);
  cache.asked.erase(uid);
  cache.answered.notify_all();
  if (name.empty()) {
    return;
  }
  if (cache.known.size() >= kMostKnown) {
    std::erase_if(cache.known, [now](const auto &one) { return one.second.until <= now; });
  }
  cache.known[uid] = {name, now + kKept};
}

std::optional<uid_t> uid_of(const std::string &name) {
  uid_t uid = 0;
  const char *end = name.data() + name.size();
  if (name.starts_with("uid-") && std::from_chars(name.data() + 4, end, uid).ptr == end) {
    return uid;
  }
  return what_may_hang("the name service", [name] { return look_up(name); }).value_or(std::nullopt);
}

std::string sensible_job(const std::string &text) {
  const bool sensible = !text.empty() && text.size() <= kLongestJob &&
                        std::all_of(text.begin(), text.end(), [](unsigned char c) {
                          return std::isalnum(c) != 0 || std::strchr("._-[]", c) != nullptr;
                        });
  return sensible ? text : "";
}

std::string job_in(std::string_view groups) {
  // Where batch systems have their groups, below which a user may have some of any name: the begin
  // of the path, what stands before the number, with so many slashes between, and what after it.
  struct Form {
    std::string_view top, before;
    std::ptrdiff_t slashes;
    char after;
  };
  constexpr Form kForms[] = {{"/slurm", "/job_", 1, '/'},                         // _NODE/uid_N
                             {"/system.slice/", "slurmstepd.scope/job_", 0, '/'}, // NODE_
                             {"/pbspro/", "", 0, '/'},
                             {"/pbspro.service/jobid/", "", 0, '/'},
                             {"/pbs_jobs.service/jobid/", "", 0, '/'},
                             {"/lsf", "/job.", 1, '.'}}; // /CLUSTER
  std::istringstream lines{std::string(groups)};         // NUMBER:CONTROLLERS:PATH
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find('/'));
    for (const auto &[top, before, slashes, after] : kForms) {
      const size_t found = line.starts_with(top) ? line.find(before, top.size()) : line.npos;
      if (found == line.npos ||
          std::count(line.begin() + static_cast<std::ptrdiff_t>(top.size()),
                     line.begin() + static_cast<std::ptrdiff_t>(found), '/') != slashes) {
        continue;
      }
      const size_t begin = found + before.size();
      if (std::string job = sensible_job(line.substr(begin, line.find(after, begin) - begin));
          !job.empty()) {
        return job;
      }
    }
  }
  return "";
}

std::string job_of(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (std::string job = job_in(read_proc(process + "/cgroup")); !job.empty()) {
    return job;
  }
  const std::string environment =
      look_at_process(pid, [process] { return read_proc(process + "/environ"); }).value_or("");
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

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string program_name(pid_t pid) {
  const std::string name = read_proc("/proc/" + std::to_string(pid) + "/comm");
  return printable(name.substr(0, name.find('\n')));
}

} // namespace ses::agent
