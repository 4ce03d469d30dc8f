#include "identity.h"

#include <pwd.h>

#include <fstream>
#include <vector>

#include "wire.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kKept{60};
constexpr size_t kMostKnown = 10000;
constexpr size_t kLongestEntry = 1u << 20;

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

std::string program_name(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return printable(name);
}

} // namespace ses::agent
