#include "rules/rules_publisher.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "node/shared_memory.h"
#include "node/unique_fd.h"

namespace ses::agent {
namespace {

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

void retire(ses_rules &rules) {
  std::atomic_ref(rules.state).store(SES_TABLE_RETIRED, std::memory_order_release);
}

ses_rules *map(int fd) {
  void *at = mmap(nullptr, sizeof(ses_rules), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<ses_rules *>(at);
}

// Programs that have mapped the file at PATH look for another one.
void remove_file(const std::string &path) {
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (fd && fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_uid == geteuid() && status.st_nlink == 1 && status.st_size == sizeof(ses_rules)) {
    if (ses_rules *const left = map(fd.get())) {
      retire(*left);
      munmap(left, sizeof *left);
    }
  }
  unlink(path.c_str());
}

// Null and errno: there is none.
ses_rules *make_file(const std::string &path, const ses_rules &rules) {
  const std::string temporary = path + ".tmp";
  unlink(temporary.c_str());
  const UniqueFd fd(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool whole = fd && write(fd.get(), &rules, sizeof rules) == sizeof rules &&
                     fchmod(fd.get(), 0644) == 0 && rename(temporary.c_str(), path.c_str()) == 0;
  return whole ? map(fd.get()) : nullptr;
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

RulesPublisher::RulesPublisher(const std::string &socket_path, const Rules &rules, std::string &why)
    : file_(socket_path + SES_RULES_SUFFIX) {
  const uint64_t socket_hash = ses_segment_hash(socket_path.c_str());
  const int32_t key = ses_segment_key(socket_hash, SES_RULES_UID);
  const ses_segment_rule rule = ses_segment_published(geteuid(), false, sizeof(ses_rules));
  const bool none = rules.include.empty() && rules.exclude.empty() && rules.programs.empty();
  const auto wanted = std::make_unique<ses_rules>();
  wanted->segment = SES_RULES_KIND;
  wanted->socket_hash = socket_hash;
  wanted->state = SES_TABLE_ALIVE;
  if (!put(wanted->include, rules.include) || !put(wanted->exclude, rules.exclude) ||
      !put(wanted->programs, rules.programs)) {
    why = "they are too long together; say the same with fewer patterns";
    return;
  }
  remove_file(file_);
  ses_segment_facts facts{};
  void *at = nullptr;
  if (const int left = ses_segment_find(key);
      left >= 0 && ses_segment_attach(left, &rule, true, &facts, &at) == 0) {
    auto *const existing = static_cast<ses_rules *>(at);
    if (!none && std::memcmp(existing, wanted.get(), sizeof *existing) == 0) {
      id_ = left;
      rules_ = existing;
      return;
    }
    retire(*existing);
    ses_segment_remove(left);
    ses_segment_detach(existing);
  }
  if (none) {
    return;
  }
  bool was_left = false;
  const int segment = ses_segment_publish(key, &rule, &was_left, &at);
  if (segment < 0) {
    const std::string no_segment = why_no_segment(segment, key);
    rules_ = make_file(file_, *wanted);
    if (rules_ == nullptr) {
      why = no_segment + "; and " + file_ + ": " + std::strerror(errno);
    } else {
      spdlog::info("programs read the rules from {}: {}", file_, no_segment);
    }
    return;
  }
  auto *const shared = static_cast<ses_rules *>(at);
  const uint32_t alive = std::exchange(wanted->state, 0); // programs believe nothing before that
  std::memcpy(shared, wanted.get(), sizeof *shared);
  std::atomic_ref(shared->state).store(alive, std::memory_order_release);
  id_ = segment;
  rules_ = shared;
}

RulesPublisher::~RulesPublisher() {
  if (rules_ == nullptr) {
    return;
  }
  retire(*rules_);
  if (id_ >= 0) {
    ses_segment_remove(id_);
    ses_segment_detach(rules_);
  } else {
    munmap(rules_, sizeof *rules_);
    unlink(file_.c_str());
  }
}

} // namespace ses::agent
