#include "impersonation.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

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

} // namespace

Impersonation::Impersonation(const Identity &own, const Identity &caller) : own_(own) {
  is_caller_ = caller == own;
  if (is_caller_ || own.effective_uid != 0 || !is_plain_user(caller)) {
    return;
  }
  changed_ = true;
  is_caller_ = become(caller.effective_uid, caller.effective_gid, caller.groups);
}

Impersonation::~Impersonation() {
  // Nothing more may be done under a foreign identity: a peer process goes on.
  if (changed_ && (syscall(SYS_setresuid, -1, own_.effective_uid, -1) != 0 ||
                   !become(own_.effective_uid, own_.effective_gid, own_.groups))) {
    std::abort();
  }
}

} // namespace ses::run
