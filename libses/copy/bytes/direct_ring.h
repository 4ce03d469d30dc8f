// O_DIRECT through io_uring: several transfers at once, each in a registered buffer.
#ifndef SES_COPY_DIRECT_RING_H
#define SES_COPY_DIRECT_RING_H

#include "bytes/bytes.h"

namespace ses::copy {

// As move_range() with Way::kDirect.  kNotPossible also where the kernel offers no io_uring.
Moved by_direct_ring(int in, int out, off_t offset, off_t length, Watch watch);

} // namespace ses::copy

#endif // SES_COPY_DIRECT_RING_H
