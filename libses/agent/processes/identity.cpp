#include "processes/identity.h"

#include <pwd.h>

#include <cerrno>
#include <charconv>
#include <vector>

#include "node/may_hang.h"
#include "processes/proc_files.h"
#include "protocol/wire.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kKept{60};
constexpr size_t kMaxKnown = 10000;
constexpr size_t kMaxAsked = 16; // at once: each has a thread, which may be lost
constexpr size_t kMaxEntry = 1u << 20;

std::string nameless(uid_t uid) { return "uid-" + std::to_string(uid); }

// Empty: the name service fails just now.
std::string look_up(uid_t uid) {
  std::vector<char> buffer(4096);
  for (;;) {
    passwd entry{};
    passwd *account = nullptr;
    const int error = getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &account);
    if (error == ERANGE && buffer.size() < kMaxEntry) {
      buffer.resize(buffer.size() * 2);
      continue;
    }
    if (error == 0 && account != nullptr && *account->pw_name != '\0') {
      return printable(account->pw_name);
    }
    return error == EIO || error == EAGAIN || error == ETIMEDOUT ? "" : nameless(uid);
  }
}

std::optional<uid_t> look_up(const std::string &name) {
  std::vector<char> buffer(4096);
  for (;;) {
    passwd entry{};
    passwd *account = nullptr;
    const int error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &account);
    if (error == ERANGE && buffer.size() < kMaxEntry) {
      buffer.resize(buffer.size() * 2);
      continue;
    }
    return error == 0 && account != nullptr ? std::optional(account->pw_uid) : std::nullopt;
  }
}

} // namespace

std::optional<std::string> UserNames::name_of(uid_t uid, std::chrono::milliseconds timeout) {
  const auto now = std::chrono::steady_clock::now();
  std::unique_lock lock(cache_->mutex);
  auto cached = cache_->known.find(uid);
  if (cached == cache_->known.end() || now >= cached->second.until) {
    const bool others_wait = !cache_->asked.empty();
    if (cache_->asked.size() < kMaxAsked && cache_->asked.insert(uid).second) {
      try {
        std::thread([cache = cache_, uid] { ask(*cache, uid); }).detach();
      } catch (const std::system_error &) { // no thread to be had: the next time
        cache_->asked.erase(uid);
      }
    }
    if (cached == cache_->known.end() && !others_wait) {
      cache_->answered.wait_for(lock, timeout, [&] { return !cache_->asked.contains(uid); });
      cached = cache_->known.find(uid);
    }
  }
  return cached == cache_->known.end() ? std::nullopt : std::optional(cached->second.name);
}

void UserNames::ask(Cache &cache, uid_t uid) {
  std::string name = look_up(uid);
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(cache.mutex);
  cache.asked.erase(uid);
  cache.answered.notify_all();
  if (name.empty()) {
    return;
  }
  // A name service that restarts knows nobody meanwhile.
  if (const auto known = cache.known.find(uid);
      known != cache.known.end() && name == nameless(uid)) {
    name = known->second.name;
  }
  if (cache.known.size() >= kMaxKnown) {
    std::erase_if(cache.known, [now](const auto &entry) { return entry.second.until <= now; });
  }
  cache.known[uid] = {name, now + kKept};
}

std::optional<uid_t> uid_of(const std::string &name) {
  uid_t uid = 0;
  const char *end = name.data() + name.size();
  if (name.starts_with("uid-") && std::from_chars(name.data() + 4, end, uid).ptr == end) {
    return uid;
  }
  return what_may_hang({"the name service"}, [name] { return look_up(name); })
      .value_or(std::nullopt);
}

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

} // namespace ses::agent
