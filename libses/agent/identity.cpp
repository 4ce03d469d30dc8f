#include "identity.h"

#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "wire.h"

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

// TEXT when it could be the number of a job, else empty.
std::string sensible_job(const std::string &text) {
  const bool sensible = !text.empty() && text.size() <= kLongestJob &&
                        std::all_of(text.begin(), text.end(), [](unsigned char c) {
                          return std::isalnum(c) != 0 || std::strchr("._-[]", c) != nullptr;
                        });
  return sensible ? text : "";
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

std::string job_of(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::ifstream environment(process + "/environ", std::ios::binary);
  for (std::string setting; std::getline(environment, setting, '\0');) {
    for (const std::string_view name : {"SLURM_JOB_ID=", "PBS_JOBID=", "LSB_JOBID="}) {
      if (setting.starts_with(name) && setting.size() > name.size()) {
        return sensible_job(setting.substr(name.size()));
      }
    }
  }
  std::ifstream groups(process + "/cgroup");
  for (std::string line; std::getline(groups, line);) { // …/slurm/uid_1000/job_123/step_0/…
    if (const size_t at = line.find("/job_"); at != std::string::npos) {
      const size_t begin = at + 5;
      return sensible_job(line.substr(begin, line.find('/', begin) - begin));
    }
  }
  return "";
}

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string program_name(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return printable(name);
}

} // namespace ses::agent
