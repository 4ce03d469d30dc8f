#include "shared_calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ses::run {

bool claim(Slot &slot, uint64_t id, Phase phase) {
  uint64_t seen = slot.state.load();
  do {
    if (is_about(seen, id) && phase_of(seen) == Phase::kAbandoned) {
      return false;
    } // an abandonment of another call came late: of no meaning
  } while (!slot.state.compare_exchange_weak(seen, state_of(id, phase)));
  return true;
}

bool abandon(Slot &slot, uint64_t id) {
  uint64_t seen = slot.state.load();
  do {
    const bool unsaid = seen == 0;
    const bool early = phase_of(seen) == Phase::kOpen || phase_of(seen) == Phase::kAbandoned;
    if (!unsaid && (!is_about(seen, id) || !early)) {
      return false;
    }
  } while (!slot.state.compare_exchange_weak(seen, state_of(id, Phase::kAbandoned)));
  return true;
}

int make_shared_calls() {
  const int fd = memfd_create("ses-supervisor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd >= 0 && (ftruncate(fd, sizeof(SharedCalls)) != 0 ||
                  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)) {
    close(fd);
    return -1;
  }
  return fd;
}

SharedCalls *map_shared_calls(int fd) {
  void *memory = mmap(nullptr, sizeof(SharedCalls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<SharedCalls *>(memory);
}

} // namespace ses::run
