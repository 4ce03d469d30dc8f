#include "rules/rules_publisher.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace ses::agent {
namespace {

constexpr unsigned kPermissions = 0777, kWanted = 0644;
constexpr int kTries = 100; // against somebody who makes another one again and again

template <size_t N> bool put(char (&list)[N], const std::vector<std::string> &patterns) {
  std::string joined;
  for (const std::string &pattern : patterns) {
    joined += (joined.empty() ? "" : ":") + pattern;
  }
  if (joined.size() >= N) {
    return false;
  }
  std::copy(joined.begin(), joined.end(), list);
  return true;
}

bool is_ours(int id) {
  shmid_ds found{};
  return shmctl(id, IPC_STAT, &found) == 0 && found.shm_perm.cuid == geteuid() &&
         found.shm_perm.uid == geteuid() && (found.shm_perm.mode & kPermissions) == kWanted &&
         found.shm_segsz == sizeof(ses_rules);
}

ses_rules *attach(int id) {
  void *address = shmat(id, nullptr, 0);
  return address == reinterpret_cast<void *>(-1) ? nullptr : static_cast<ses_rules *>(address);
}

// Makes the segment of KEY; one of somebody else that has the key is removed, which root can.
int make(key_t key) {
  for (int i = 0; i < kTries; ++i) {
    const int made =
        shmget(key, sizeof(ses_rules), IPC_CREAT | IPC_EXCL | static_cast<int>(kWanted));
    if (made >= 0 || errno != EEXIST) {
      return made;
    }
    const int left = shmget(key, 0, 0);
    if (left >= 0 && shmctl(left, IPC_RMID, nullptr) != 0) {
      break;
    }
  }
  errno = EEXIST;
  return -1;
}

void retire(int id, ses_rules &rules) {
  std::atomic_ref(rules.state).store(SES_TABLE_RETIRED, std::memory_order_release);
  shmctl(id, IPC_RMID, nullptr);
}

} // namespace

std::string fault_of(const std::string &pattern) {
  const bool control = std::any_of(pattern.begin(), pattern.end(), [](unsigned char c) {
    return c < 0x20 || c == 0x7f; // NUL among them
  });
  return pattern.empty()                                ? "an empty pattern"
         : pattern.find(':') != std::string::npos       ? "a pattern cannot have a ':'"
         : control                                      ? "a pattern cannot have control characters"
         : pattern.size() >= sizeof(ses_rules::exclude) ? "a pattern that is too long"
                                                        : "";
}

RulesPublisher::RulesPublisher(const std::string &socket_path, const Rules &rules,
                               std::string &why) {
  const uint64_t socket_hash = ses_table_hash(socket_path.c_str());
  const key_t key = ses_table_key(socket_hash, SES_RULES_UID);
  const bool none = rules.include.empty() && rules.exclude.empty() && rules.programs.empty();
  const auto wanted = std::make_unique<ses_rules>();
  wanted->magic = SES_RULES_MAGIC;
  wanted->version = SES_RULES_VERSION;
  wanted->head_size = offsetof(ses_rules, include);
  wanted->size = sizeof *wanted;
  wanted->socket_hash = socket_hash;
  wanted->state = SES_TABLE_ALIVE;
  if (!put(wanted->include, rules.include) || !put(wanted->exclude, rules.exclude) ||
      !put(wanted->programs, rules.programs)) {
    why = "they are too long together; say the same with fewer patterns";
    return;
  }
  if (const int left = shmget(key, 0, 0); left >= 0 && is_ours(left)) {
    if (ses_rules *const found = attach(left)) {
      if (!none && std::memcmp(found, wanted.get(), sizeof *found) == 0) {
        id_ = left;
        rules_ = found;
        return;
      }
      retire(left, *found);
      shmdt(found);
    }
  }
  if (none) {
    return;
  }
  const int made = make(key);
  ses_rules *const shared = made < 0 ? nullptr : attach(made);
  if (shared == nullptr) {
    why = errno == EEXIST ? "the segment of key " + std::to_string(key) +
                                " was made by somebody else; see who with ipcs -m -c, and remove "
                                "it with ipcrm"
                          : std::string("shmget: ") + std::strerror(errno);
    if (made >= 0) {
      shmctl(made, IPC_RMID, nullptr);
    }
    return;
  }
  const uint32_t alive = std::exchange(wanted->state, 0); // programs believe nothing before that
  std::memcpy(shared, wanted.get(), sizeof *shared);
  std::atomic_ref(shared->state).store(alive, std::memory_order_release);
  id_ = made;
  rules_ = shared;
}

RulesPublisher::~RulesPublisher() {
  if (rules_ != nullptr) {
    retire(id_, *rules_);
    shmdt(rules_);
  }
}

} // namespace ses::agent
