#include "plan_segment.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>

namespace ses::agent {
namespace {

constexpr unsigned kPermissions = 0777, kWanted = 0600;
constexpr int kTries = 3;

// Made by this agent's user for UID, and nobody else's to read or write.
bool is_ours(const shmid_ds &found, uid_t uid) {
  return found.shm_perm.cuid == geteuid() && found.shm_perm.uid == uid &&
         (found.shm_perm.mode & kPermissions) == kWanted && found.shm_segsz == sizeof(ses_plan);
}

std::optional<shmid_ds> facts_of(int id) {
  shmid_ds found{};
  return shmctl(id, IPC_STAT, &found) == 0 ? std::optional(found) : std::nullopt;
}

ses_plan *attach(int id) {
  void *address = shmat(id, nullptr, 0);
  return address == reinterpret_cast<void *>(-1) ? nullptr : static_cast<ses_plan *>(address);
}

bool give_to(int id, uid_t uid) {
  auto facts = facts_of(id);
  if (!facts) {
    return false;
  }
  facts->shm_perm.uid = uid;
  facts->shm_perm.mode = kWanted;
  return shmctl(id, IPC_SET, &*facts) == 0;
}

std::string failed(const char *step) { return std::string(step) + ": " + std::strerror(errno); }

std::string advice() {
  const std::string why = failed("shmget");
  return errno == ENOSPC   ? why + "; raise kernel.shmmni"
         : errno == ENOMEM ? why + "; raise kernel.shmall"
                           : why;
}

} // namespace

std::unique_ptr<PlanSegment> PlanSegment::open(uint64_t socket_hash, uid_t uid, uint64_t instance,
                                               std::string &why) {
  const key_t key = ses_plan_key(socket_hash, uid);
  for (int i = 0; i < kTries; ++i) {
    const int made = shmget(key, sizeof(ses_plan),
                            IPC_CREAT | IPC_EXCL | SHM_NORESERVE | static_cast<int>(kWanted));
    if (made < 0 && errno != EEXIST) {
      why = advice();
      return nullptr;
    }
    if (made >= 0) {
      ses_plan *const plan = attach(made);
      if (plan == nullptr) {
        why = failed("shmat");
        shmctl(made, IPC_RMID, nullptr);
        return nullptr;
      }
      std::unique_ptr<PlanSegment> segment(new PlanSegment(made, plan, false));
      segment->write_head(socket_hash, uid, instance);
      if (!give_to(made, uid)) { // programs believe nothing in it before this
        why = failed("shmctl");
        segment->retire();
        return nullptr;
      }
      return segment;
    }
    const int id = shmget(key, 0, 0);
    const auto facts = id < 0 ? std::nullopt : facts_of(id);
    if (!facts) {
      if (errno == EACCES) {
        break;
      }
      continue; // it went away meanwhile
    }
    if (facts->shm_perm.cuid != geteuid()) {
      break;
    }
    if (is_ours(*facts, uid)) {
      if (ses_plan *const plan = attach(id)) {
        std::unique_ptr<PlanSegment> segment(new PlanSegment(id, plan, true));
        const ses_plan_head &head = plan->head;
        if (head.magic == SES_PLAN_MAGIC && head.version == SES_PLAN_VERSION &&
            head.size == sizeof(ses_plan) && head.socket_hash == socket_hash) {
          segment->write_head(socket_hash, uid, instance);
          return segment;
        }
      }
    }
    shmctl(id, IPC_RMID, nullptr); // of this agent's user, but not what it would make today
  }
  why = "the segment of key " + std::to_string(key) +
        " was made by somebody else; see who with ipcs -m -c, and remove it with ipcrm";
  return nullptr;
}

std::vector<uid_t> PlanSegment::left_behind(uint64_t socket_hash) {
  std::vector<uid_t> users;
  shmid_ds found{};
  const int highest = shmctl(0, SHM_INFO, &found);
  for (int index = 0; index <= highest; ++index) {
    if (shmctl(index, SHM_STAT, &found) >= 0 && is_ours(found, found.shm_perm.uid) &&
        found.shm_perm.__key == ses_plan_key(socket_hash, found.shm_perm.uid)) {
      users.push_back(found.shm_perm.uid);
    }
  }
  return users;
}

PlanSegment::~PlanSegment() { shmdt(plan_); }

// What grows stays as it is: programs remember it.
void PlanSegment::write_head(uint64_t socket_hash, uid_t uid, uint64_t instance) {
  ses_plan_head &head = plan_->head;
  head.magic = SES_PLAN_MAGIC;
  head.version = SES_PLAN_VERSION;
  head.head_size = sizeof head;
  head.size = sizeof(ses_plan);
  head.socket_hash = socket_hash;
  head.instance = instance;
  head.uid = uid;
  std::atomic_ref(head.state).store(SES_PLAN_ALIVE);
}

bool PlanSegment::is_removed() const {
  const auto facts = facts_of(id_);
  return !facts || (facts->shm_perm.mode & SHM_DEST) != 0;
}

void PlanSegment::beat(uint64_t now_ms) { std::atomic_ref(plan_->head.heartbeat_ms).store(now_ms); }

void PlanSegment::retire() {
  std::atomic_ref(plan_->head.state).store(SES_PLAN_RETIRED);
  shmctl(id_, IPC_RMID, nullptr);
}

} // namespace ses::agent
