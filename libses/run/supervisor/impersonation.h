// Being, in this thread, who a caller is.
#ifndef SES_RUN_SUPERVISOR_IMPERSONATION_H
#define SES_RUN_SUPERVISOR_IMPERSONATION_H

#include "caller.h"

namespace ses::run {

// While it lives this thread has the identity of the caller, as far as file systems and the agent
// can see.  Only root can become somebody else: somebody without capabilities, or root with fewer
// of them, as in a container.  Of a caller with other users (a user namespace) they do not count:
// they can only allow it more than they allow this thread, and what fails here is tried by the
// caller itself.
class Impersonation {
public:
  Impersonation(const Identity &own, Identity caller, bool shares_users);
  ~Impersonation();
  Impersonation(const Impersonation &) = delete;
  Impersonation &operator=(const Impersonation &) = delete;

  // False: this thread is still itself, and not the caller.
  explicit operator bool() const { return is_caller_; }

private:
  const Identity &own_;
  bool is_caller_ = false;
  bool changed_ = false;
};

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_IMPERSONATION_H
