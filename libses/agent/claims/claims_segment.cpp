#include "claims/claims_segment.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>

namespace ses::agent {
namespace {

constexpr unsigned kPermissions = 0777, kWanted = 0600;

std::optional<shmid_ds> segment_facts(int id) {
  shmid_ds found{};
  return shmctl(id, IPC_STAT, &found) == 0 ? std::optional(found) : std::nullopt;
}

// Made by this agent's user for UID, and nobody else's to read or write.
bool is_ours(const shmid_ds &found, uid_t uid) {
  return found.shm_perm.cuid == geteuid() && found.shm_perm.uid == uid &&
         found.shm_perm.__key == IPC_PRIVATE && (found.shm_perm.mode & kPermissions) == kWanted &&
         found.shm_segsz == sizeof(ses_claims) && (found.shm_perm.mode & SHM_DEST) == 0;
}

ses_claims *attach(int id) {
  void *address = shmat(id, nullptr, 0);
  return address == reinterpret_cast<void *>(-1) ? nullptr : static_cast<ses_claims *>(address);
}

bool give_to(int id, uid_t uid) {
  auto facts = segment_facts(id);
  if (!facts) {
    return false;
  }
  facts->shm_perm.uid = uid;
  facts->shm_perm.mode = kWanted;
  return shmctl(id, IPC_SET, &*facts) == 0;
}

void write_head(ses_claims_head &head, uid_t uid, uint64_t instance) {
  head.magic = SES_CLAIMS_MAGIC;
  head.version = SES_CLAIMS_VERSION;
  head.head_size = sizeof head;
  head.size = sizeof(ses_claims);
  head.instance = instance;
  head.uid = uid;
  std::atomic_ref(head.state).store(SES_TABLE_ALIVE);
}

std::string failed(const char *step) { return std::string(step) + ": " + std::strerror(errno); }

std::string advice() {
  const std::string why = failed("shmget");
  return errno == ENOSPC   ? why + "; raise kernel.shmmni"
         : errno == ENOMEM ? why + "; raise kernel.shmall"
                           : why;
}

} // namespace

std::unique_ptr<ClaimsSegment> ClaimsSegment::make(uid_t uid, std::string &why) {
  const int id = shmget(IPC_PRIVATE, sizeof(ses_claims), SHM_NORESERVE | static_cast<int>(kWanted));
  if (id < 0) {
    why = advice();
    return nullptr;
  }
  ses_claims *const claims = attach(id);
  if (claims == nullptr) {
    why = failed("shmat");
    shmctl(id, IPC_RMID, nullptr);
    return nullptr;
  }
  std::random_device device;
  const uint64_t instance = (static_cast<uint64_t>(device()) << 32) | device();
  std::unique_ptr<ClaimsSegment> segment(new ClaimsSegment(id, uid, instance, claims));
  write_head(claims->head, uid, instance);
  if (!give_to(id, uid)) { // programs believe nothing in it before this
    why = failed("shmctl");
    segment->retire();
    return nullptr;
  }
  return segment;
}

std::unique_ptr<ClaimsSegment> ClaimsSegment::take_over(int id, uid_t uid, uint64_t instance) {
  const auto facts = segment_facts(id);
  if (!facts || facts->shm_perm.cuid != geteuid() || facts->shm_segsz != sizeof(ses_claims)) {
    return nullptr;
  }
  ses_claims *const claims = is_ours(*facts, uid) ? attach(id) : nullptr;
  if (claims == nullptr) {
    shmctl(id, IPC_RMID, nullptr);
    return nullptr;
  }
  write_head(claims->head, uid, instance);
  return std::unique_ptr<ClaimsSegment>(new ClaimsSegment(id, uid, instance, claims));
}

ClaimsSegment::~ClaimsSegment() { shmdt(claims_); }

bool ClaimsSegment::is_lost() const {
  const auto facts = segment_facts(id_);
  return !facts || !is_ours(*facts, uid_);
}

bool ClaimsSegment::has_programs() const {
  const auto facts = segment_facts(id_);
  return facts && facts->shm_nattch > 1; // one is the agent
}

void ClaimsSegment::retire() {
  std::atomic_ref(claims_->head.state).store(SES_TABLE_RETIRED);
  shmctl(id_, IPC_RMID, nullptr);
}

} // namespace ses::agent
