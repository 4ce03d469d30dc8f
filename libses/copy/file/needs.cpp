#include "file/needs.h"

#include <fcntl.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "settings/require.h"
#include "settings/require_wrong.h"

namespace ses::copy {
namespace {

void require(ses_policy *policy, const ses_wire_requirement &requirement) {
  switch (requirement.kind) {
  case SES_CURRENT_READ_RATE:
    ses_policy_set_current_read_rate(policy, requirement.minimum);
    break;
  case SES_AVERAGE_READ_RATE:
    ses_policy_set_average_read_rate(policy, requirement.minimum);
    break;
  case SES_CURRENT_WRITE_RATE:
    ses_policy_set_current_write_rate(policy, requirement.minimum);
    break;
  case SES_AVERAGE_WRITE_RATE:
    ses_policy_set_average_write_rate(policy, requirement.minimum);
    break;
  default:
    ses_policy_set_capacity(policy, requirement.minimum);
  }
  ses_policy_set_hard(policy, static_cast<ses_requirement_kind>(requirement.kind),
                      static_cast<int>(requirement.hard));
}

} // namespace

Policy policy_of(const std::string &require_text, const std::string &application,
                 std::string &wrong) {
  Policy policy(ses_policy_new());
  if (policy == nullptr) {
    throw std::bad_alloc();
  }
  if (!require_text.empty()) {
    ses_wire_requirement requirements[SES_REQUIRE_KINDS];
    const char *rest = nullptr;
    const int count = ses_require_parse(require_text.c_str(), requirements, &rest);
    if (count < 0) {
      std::string why(SES_REQUIRE_WRONG_LENGTH + std::strlen(rest), '\0');
      ses_require_wrong(why.data(), why.size(), rest);
      wrong = "--require " + std::string(why.c_str());
      return nullptr;
    }
    for (int number = 0; number < count; ++number) {
      require(policy.get(), requirements[number]);
    }
  }
  if (!application.empty()) {
    ses_policy_set_application(policy.get(), application.c_str());
  }
  if (const ses_status status = ses_policy_status(policy.get()); status != SES_OK) {
    wrong = ses_strerror(status);
    return nullptr;
  }
  return policy;
}

Descriptor create_placed(int directory, const std::string &name, off_t size,
                         const ses_policy *needs, ses_result &result) {
  const Policy policy(needs != nullptr ? ses_policy_copy(needs) : ses_policy_new());
  ses_policy_set_expected_size(policy.get(), static_cast<std::uint64_t>(size));
  return Descriptor(ses_create_at(directory, name.c_str(), O_RDWR | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                  0600, policy.get(), &result));
}

} // namespace ses::copy
