#include "life_pipe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/descriptor.h"

namespace ses::run {
namespace {

// The number of the pipe; 0: it is not there.
uint64_t own_pipe() {
  struct stat status {};
  return fstat(kLifeRead, &status) == 0 ? status.st_ino : 0;
}

} // namespace

bool make_life_pipe(SharedCalls &calls) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return false;
  }
  const Descriptor read_end(fcntl(ends[0], F_DUPFD_CLOEXEC, kLifeWrite + 1));
  const Descriptor write_end(fcntl(ends[1], F_DUPFD_CLOEXEC, kLifeWrite + 1));
  close(ends[0]); // they may have the numbers of the other
  close(ends[1]);
  if (!read_end || !write_end || dup3(read_end.get(), kLifeRead, O_CLOEXEC) < 0 ||
      dup3(write_end.get(), kLifeWrite, O_CLOEXEC) < 0) {
    return false;
  }
  calls.life_pipe = own_pipe();
  return true;
}

bool is_first_to_take_over(SharedCalls &calls) {
  uint64_t own = own_pipe();
  return own != 0 && calls.life_pipe.compare_exchange_strong(own, 0);
}

} // namespace ses::run
