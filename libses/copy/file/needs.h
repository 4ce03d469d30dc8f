// What copies need, from the command line to the library.
#ifndef SES_COPY_NEEDS_H
#define SES_COPY_NEEDS_H

#include <ses/ses.h>

#include <memory>
#include <string>

namespace ses::copy {

struct FreePolicy {
  void operator()(ses_policy *policy) const { ses_policy_free(policy); }
};
using Policy = std::unique_ptr<ses_policy, FreePolicy>;

// A policy of requirements as people write them and the name that others are looked up under;
// either may be empty.  None: not understood, and WRONG is what.
Policy policy_of(const std::string &require, const std::string &application, std::string &wrong);

} // namespace ses::copy

#endif // SES_COPY_NEEDS_H
