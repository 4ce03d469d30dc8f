// A file that a program claims to have created.
#ifndef SES_AGENT_CLAIMED_FILE_H
#define SES_AGENT_CLAIMED_FILE_H

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "announcements/announcement.h"
#include "claims/claim_ring.h"

namespace ses::agent {

struct ClaimedFile {
  uid_t uid = 0;
  uint64_t placement_id = 0;
  std::shared_ptr<const Origin> origin;
  std::shared_ptr<const Choice> choice;
  dev_t device = 0; // of the storage system, as the next
  std::string mount_point;
  Claim claim;
};

} // namespace ses::agent

#endif // SES_AGENT_CLAIMED_FILE_H
