// Starting ses-supervisor, and putting this process under it.
#ifndef SES_RUN_SUPERVISION_H
#define SES_RUN_SUPERVISION_H

#include <string>

namespace ses::run {

enum class Supervised {
  kYes,
  kNo, // nothing has changed
  // The filter is there and nobody listens, because the supervisor was killed, and the one in
  // reserve too: no file can be created in this process any more.
  kDead,
};

// On return the supervisor listens to this process.  It is no child of this process.  WHY, unless
// kYes: the reason.
Supervised supervise(bool refuses_io_uring, std::string &why);

} // namespace ses::run

#endif // SES_RUN_SUPERVISION_H
