#include "table/table_segment.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace ses::agent {
namespace {

constexpr unsigned kPermissions = 0777, kWanted = 0644;
constexpr int kTries = 3;

std::optional<shmid_ds> facts_of(int id) {
  shmid_ds found{};
  return shmctl(id, IPC_STAT, &found) == 0 ? std::optional(found) : std::nullopt;
}

bool is_ours(const shmid_ds &found) {
  return found.shm_perm.cuid == geteuid() && found.shm_perm.uid == geteuid() &&
         (found.shm_perm.mode & kPermissions) == kWanted && found.shm_segsz == sizeof(ses_table);
}

ses_table *attach(int id) {
  void *address = shmat(id, nullptr, 0);
  return address == reinterpret_cast<void *>(-1) ? nullptr : static_cast<ses_table *>(address);
}

bool is_filled(const ses_table_head &head, uint64_t socket_hash) {
  return head.magic == SES_TABLE_MAGIC && head.version == SES_TABLE_VERSION &&
         head.size == sizeof(ses_table) && head.socket_hash == socket_hash;
}

std::string failed(const char *step) { return std::string(step) + ": " + std::strerror(errno); }

} // namespace

std::unique_ptr<TableSegment> TableSegment::open(uint64_t socket_hash, std::string &why) {
  const key_t key = ses_table_key(socket_hash, 0);
  for (int i = 0; i < kTries; ++i) {
    const int made =
        shmget(key, sizeof(ses_table), IPC_CREAT | IPC_EXCL | static_cast<int>(kWanted));
    if (made < 0 && errno != EEXIST) {
      why = failed("shmget") + (errno == ENOSPC ? "; raise kernel.shmmni" : "");
      return nullptr;
    }
    if (made >= 0) {
      if (ses_table *const table = attach(made)) {
        return std::unique_ptr<TableSegment>(new TableSegment(made, table, false));
      }
      why = failed("shmat");
      shmctl(made, IPC_RMID, nullptr);
      return nullptr;
    }
    const int id = shmget(key, 0, 0); // root may open any; another user only what is readable
    const auto facts = id < 0 ? std::nullopt : facts_of(id);
    if (facts && is_ours(*facts)) {
      if (ses_table *const table = attach(id)) {
        std::unique_ptr<TableSegment> segment(new TableSegment(id, table, true));
        if (is_filled(table->head, socket_hash)) {
          return segment;
        }
      }
    }
    if (facts && shmctl(id, IPC_RMID, nullptr) != 0) {
      break; // somebody else's
    }
    if (!facts && errno == EACCES) {
      break;
    }
  }
  why = "the segment of key " + std::to_string(key) +
        " was made by somebody else; see who with ipcs -m -c, and remove it with ipcrm";
  return nullptr;
}

std::unique_ptr<TableSegment> TableSegment::hidden() {
  const int id = shmget(IPC_PRIVATE, sizeof(ses_table), IPC_CREAT | 0600);
  ses_table *const table = id < 0 ? nullptr : attach(id);
  shmctl(id, IPC_RMID, nullptr);
  return table == nullptr ? nullptr
                          : std::unique_ptr<TableSegment>(new TableSegment(id, table, false));
}

TableSegment::~TableSegment() { shmdt(table_); }

void TableSegment::remove() { shmctl(id_, IPC_RMID, nullptr); }

} // namespace ses::agent
