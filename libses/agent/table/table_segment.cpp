#include "table/table_segment.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>

#include "node/shared_memory.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kTryEvery{10};
constexpr size_t kHead = sizeof(ses_segment_head); // what identifies it as a table

} // namespace

std::unique_ptr<TableSegment> TableSegment::open(uint64_t socket_hash, std::string &why) {
  const int32_t key = ses_segment_key(socket_hash, 0);
  const ses_segment_rule rule = ses_segment_published(geteuid(), false, sizeof(ses_table));
  const ses_segment_head kind = SES_TABLE_KIND;
  for (bool was_left = true; was_left;) {
    void *at = nullptr;
    const int id = ses_segment_publish(key, &rule, &was_left, &at);
    if (id < 0) {
      why = why_no_segment(id, key);
      return nullptr;
    }
    std::unique_ptr<TableSegment> segment(
        new TableSegment(id, static_cast<ses_table *>(at), was_left));
    if (!was_left ||
        (ses_segment_is(at, &kind) && segment->table().head.socket_hash == socket_hash)) {
      return segment;
    }
    segment->remove(); // of another version, or never filled
  }
  return nullptr;
}

std::unique_ptr<TableSegment> TableSegment::hidden() {
  void *const at =
      mmap(nullptr, sizeof(ses_table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr
                          : std::unique_ptr<TableSegment>(
                                new TableSegment(-1, static_cast<ses_table *>(at), false));
}

TableSegment::~TableSegment() {
  if (id_ < 0) {
    munmap(table_, sizeof *table_);
  } else {
    ses_segment_detach(table_);
  }
}

void TableSegment::remove() {
  if (id_ >= 0) {
    ses_segment_remove(id_);
  }
}

bool TableSegment::publish(uint64_t socket_hash, std::chrono::steady_clock::time_point now) {
  if (id_ >= 0 || now - tried_at_ < kTryEvery) {
    return false;
  }
  tried_at_ = now;
  std::string why;
  const auto replacement = open(socket_hash, why);
  if (!replacement) {
    return false;
  }
  if (replacement->was_left()) { // by an agent that is gone: the next attempt gets another one
    replacement->remove();
    return false;
  }
  // A thread that waits on the word in the memory that is replaced would never be woken.
  std::atomic_ref(table_->head.asleep).store(0, std::memory_order_seq_cst);
  syscall(SYS_futex, &table_->head.asleep, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  auto *const to = reinterpret_cast<char *>(replacement->table_);
  const auto *const from = reinterpret_cast<const char *>(table_);
  const ses_segment_head kind = SES_TABLE_KIND;
  std::memcpy(to + kHead, from + kHead, sizeof *table_ - kHead);
  ses_segment_name(replacement->table_, &kind); // programs believe nothing before
  if (shmat(replacement->id_, table_, SHM_REMAP) != table_) {
    replacement->remove();
    return false;
  }
  id_ = replacement->id_;
  return true;
}

} // namespace ses::agent
