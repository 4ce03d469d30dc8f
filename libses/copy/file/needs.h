// What copies need, from the command line to the library, and files created by it.
#ifndef SES_COPY_NEEDS_H
#define SES_COPY_NEEDS_H

#include <ses/ses.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "system/descriptor.h"

namespace ses::copy {

struct FreePolicy {
  void operator()(ses_policy *policy) const { ses_policy_free(policy); }
};
using Policy = std::unique_ptr<ses_policy, FreePolicy>;

// A policy of requirements as people write them and the name that others are looked up under;
// either may be empty.  None: not understood, and WRONG is what.
Policy policy_of(const std::string &require, const std::string &application, std::string &wrong);

// A file of SIZE bytes that must not exist in DIRECTORY, open for reading and writing by its owner,
// placed as NEEDS say (null: no needs); none, with errno.  RESULT: what the library did.
Descriptor create_placed(int directory, const std::string &name, off_t size,
                         const ses_policy *needs, ses_result &result);

} // namespace ses::copy

#endif // SES_COPY_NEEDS_H
