// Moves bytes from one open file to another by one of the ways.
#ifndef SES_COPY_BYTES_H
#define SES_COPY_BYTES_H

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "bytes/way.h"

namespace ses::copy {

// What a copy looks at from time to time.  Once STOP is true it ends, within one step (64 MiB).
struct Watch {
  const std::atomic<bool> &stop;
  std::atomic<std::uint64_t> &moved; // bytes, of all copies
};

enum class Outcome { kDone, kStopped, kNotPossible, kFailed, kShort };

// What became of one range.  `error` is an errno with kNotPossible and kFailed; with kShort the
// source ended before the range did.
struct Moved {
  Outcome outcome = Outcome::kDone;
  int error = 0;
};

// Makes the whole of OUT share the blocks of IN.
Moved reflink(int in, int out);

// Copies LENGTH bytes from OFFSET of IN to the same place of OUT, by any way but kReflink.  With
// kDirect both descriptors have O_DIRECT, OFFSET is a multiple of kAlignment, and bytes beyond the
// last multiple before the end of the range may be written: the caller sets the size.
// kNotPossible: this way does not work between these files; nothing was written then, or
// what was written is what another way writes again.
Moved move_range(Way way, int in, int out, off_t offset, off_t length, Watch watch);

// The same by kReadWrite to where OUT has a hole: what is zeros stays one, in blocks of kAlignment.
Moved move_data(int in, int out, off_t offset, off_t length, Watch watch);

inline constexpr off_t kStep = off_t{64} << 20;  // bytes between two looks at Watch::stop
inline constexpr off_t kAlignment = off_t{4096}; // of memory, offset and length with kDirect

} // namespace ses::copy

#endif // SES_COPY_BYTES_H
