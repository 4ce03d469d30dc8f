#include "node/identity.h"

#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "node/proc_files.h"
#include "protocol/wire.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kKept{60};
constexpr size_t kMostKnown = 10000;
constexpr size_t kLongestEntry = 1u << 20;
constexpr size_t kLongestJob = 64;

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
    return "uid-" + std::to_string(uid);
  }
}

} // namespace

std::string UserNames::name_of(uid_t uid) {
  const auto now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(uid);
    if (found != known_.end() && now < found->second.until) {
      return found->second.name;
    }
  }
  std::string name = look_up(uid);
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnown) {
    known_.clear();
  }
  known_[uid] = Known{name, now + kKept};
  return name;
}

std::optional<uid_t> uid_of(const std::string &name) {
  std::vector<char> buffer(4096);
  for (;;) {
    passwd entry{};
    passwd *found = nullptr;
    const int error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE && buffer.size() < kLongestEntry) {
      buffer.resize(buffer.size() * 2);
      continue;
    }
    if (error == 0 && found != nullptr) {
      return found->pw_uid;
    }
    break;
  }
  uid_t uid = 0;
  const char *end = name.data() + name.size();
  if (name.starts_with("uid-") && std::from_chars(name.data() + 4, end, uid).ptr == end) {
    return uid;
  }
  return std::nullopt;
}

std::string sensible_job(const std::string &text) {
  const bool sensible = !text.empty() && text.size() <= kLongestJob &&
                        std::all_of(text.begin(), text.end(), [](unsigned char c) {
                          return std::isalnum(c) != 0 || std::strchr("._-[]", c) != nullptr;
                        });
  return sensible ? text : "";
}

std::string job_of(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  const std::string environment = read_proc(process + "/environ");
  for (size_t at = 0, end = 0; at < environment.size(); at = end + 1) {
    end = std::min(environment.find('\0', at), environment.size());
    const auto setting = std::string_view(environment).substr(at, end - at);
    for (const std::string_view name : {"SLURM_JOB_ID=", "PBS_JOBID=", "LSB_JOBID="}) {
      if (setting.starts_with(name) && setting.size() > name.size()) {
        return sensible_job(std::string(setting.substr(name.size())));
      }
    }
  }
  const std::string groups = read_proc(process + "/cgroup");
  if (const size_t at = groups.find("/job_"); at != std::string::npos) { // …/slurm/…/job_123/step_0
    const size_t begin = at + 5;
    return sensible_job(groups.substr(begin, groups.find_first_of("/\n", begin) - begin));
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
