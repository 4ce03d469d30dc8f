#include "node/shared_memory.h"

#include <cerrno>
#include <cstring>

namespace ses::agent {

std::string why_no_segment(int status, int32_t key) {
  if (status == -EEXIST) {
    return "the segment of key " + std::to_string(key) +
           " was made by somebody else; see who with ipcs -m -c, and remove it with ipcrm";
  }
  return std::string("shmget: ") + std::strerror(-status) +
         (status == -ENOSPC   ? "; raise kernel.shmmni"
          : status == -ENOMEM ? "; raise kernel.shmall"
                              : "");
}

} // namespace ses::agent
