// A notified call, read from its registers (for openat2() also from its memory).
#ifndef SES_RUN_SUPERVISOR_CALL_H
#define SES_RUN_SUPERVISOR_CALL_H

#include <linux/seccomp.h>
#include <sys/types.h>

#include <optional>

#include "caller.h"

namespace ses::run {

struct CreateCall {
  int dirfd;
  uint64_t path; // an address
  int flags;     // contain O_CREAT; SES_PLACE_NODE: of mknod(), which returns no descriptor
  mode_t mode;
};

// Nothing when the call creates nothing, or asks for more than openat() could.
std::optional<CreateCall> read_call(const seccomp_notif &call, const Caller &caller);

// Does the call install a filter that hands calls to a tracer (SECCOMP_RET_TRACE)?  The kernel
// would hand it none that are notified.
bool is_for_tracer(const seccomp_notif &call);

// Does the call confine its process by rules that are not seen from outside?
bool is_confining(const seccomp_notif &call);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_CALL_H
