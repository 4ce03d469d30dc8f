#include "impersonation.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace ses::run {
namespace {

// By system call: the C library's functions change all threads.
bool become(uid_t uid, gid_t gid, const std::vector<gid_t> &groups) {
  return syscall(SYS_setgroups, groups.size(), groups.data()) == 0 &&
         syscall(SYS_setresgid, -1, gid, -1) == 0 && syscall(SYS_setresuid, -1, uid, -1) == 0;
}

bool is_plain_user(const Identity &who) {
  return who.uid != 0 && who.effective_uid == who.fs_uid && who.effective_gid == who.fs_gid &&
         who.effective_uid != 0 && who.capabilities.find_first_not_of('0') == std::string::npos;
}

bool is_lesser_root(const Identity &who) {
  return who.uid == 0 && who.effective_uid == 0 && who.fs_uid == 0 &&
         who.effective_gid == who.fs_gid;
}

// Of this thread.  False: it does not have all of them, or they cannot be read.
bool set_effective(const std::string &wanted) {
  __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &head, caps) != 0) {
    return false;
  }
  const uint64_t bits = std::strtoull(wanted.c_str(), nullptr, 16);
  caps[0].effective = static_cast<uint32_t>(bits);
  caps[1].effective = static_cast<uint32_t>(bits >> 32);
  return syscall(SYS_capset, &head, caps) == 0;
}

} // namespace

Impersonation::Impersonation(const Identity &own, Identity caller, bool shares_users) : own_(own) {
  if (!shares_users) {
    caller.capabilities.assign(own.capabilities.size(), '0');
  }
  is_caller_ = caller == own;
  const bool is_root = own.effective_uid == 0;
  if (is_caller_ || !is_root || !(is_plain_user(caller) || is_lesser_root(caller))) {
    return;
  }
  changed_ = true;
  is_caller_ = become(caller.effective_uid, caller.effective_gid, caller.groups) &&
               (caller.effective_uid != 0 || set_effective(caller.capabilities));
}

Impersonation::~Impersonation() {
  // Nothing more may be done under a foreign identity: a peer process goes on.
  if (changed_ && (syscall(SYS_setresuid, -1, own_.effective_uid, -1) != 0 ||
                   !set_effective(own_.capabilities) ||
                   !become(own_.effective_uid, own_.effective_gid, own_.groups))) {
    std::abort();
  }
}

} // namespace ses::run
