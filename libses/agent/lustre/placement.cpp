#include "lustre/placement.h"

namespace ses::agent {
namespace {

constexpr unsigned long kMaxIndex = 0xfffe;

bool is_index(const std::string &target) {
  return !target.empty() && target.size() <= 5 &&
         target.find_first_not_of("0123456789") == std::string::npos;
}

bool is_pool(const std::string &target) {
  return !target.empty() && target.size() < SES_POOL_MAX && printable(target) == target;
}

} // namespace

bool place_on_lustre(const std::vector<std::string> &targets, Placement &placement) {
  if (targets.size() == 1 && !is_index(targets[0])) {
    placement.lustre_form = SES_LUSTRE_POOL;
    placement.pool = targets[0];
    // The service answers one stripe when it has no reason for more: the site's own count holds.
    placement.stripe_count = placement.stripe_count == 1 ? 0 : placement.stripe_count;
    return is_pool(targets[0]);
  }
  for (const std::string &target : targets) {
    if (!is_index(target) || std::stoul(target) > kMaxIndex) {
      return false;
    }
    placement.osts.push_back(static_cast<uint16_t>(std::stoul(target)));
  }
  placement.lustre_form = SES_LUSTRE_LIST;
  placement.stripe_count = static_cast<uint32_t>(placement.osts.size());
  return !placement.osts.empty() && placement.osts.size() <= SES_OSTS_MAX;
}

} // namespace ses::agent
