#include "request/path.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "runtime/self.h"
#include "runtime/sys.h"
#include "settings/settings.h"

#define PAGE 4096u /* the smallest there is */
#define STACK_NEAR (8u << 20)

/* The part of the first thread's stack that is in use while it runs there is one piece, and mapped.
 * Elsewhere on that height is nothing: the kernel keeps other mappings farther off. */
static bool is_on_stack(uintptr_t address) {
  uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
  uintptr_t top = ses_settings()->stack_top;
  return address > frame && address < top && top - frame < STACK_NEAR;
}

/* As is_readable(), for three times the price.  Valgrind takes no offence: it would complain of the
 * question below where some of the 8 bytes were never written, and of its nonsense. */
static bool can_copy(const char *address) {
  char byte;
  struct iovec here = {&byte, 1};
  struct iovec there = {(void *)address, 1};
  return ses_sys6(SYS_process_vm_readv, ses_self_pid(), ses_address(&here), 1, ses_address(&there),
                  1, 0) == 1;
}

/* True when 8 bytes around ADDRESS can be read: the kernel copies the set before it looks at the
 * nonsensical first argument.  A bad pointer must give EFAULT from the original call, not a signal.
 */
static bool is_readable(const char *address) {
  if (ses_settings()->valgrind)
    return can_copy(address);
  uintptr_t aligned = (uintptr_t)address & ~(uintptr_t)7;
  return is_on_stack(aligned) || ses_sys4(SYS_rt_sigprocmask, -1, (long)aligned, 0, 8) == -EINVAL;
}

size_t ses_path_length(const char *path) {
  size_t length = 0;
  while (length <= PATH_MAX && is_readable(path + length)) {
    size_t room = PAGE - ((uintptr_t)(path + length) & (PAGE - 1));
    size_t part = strnlen(path + length, room);
    length += part;
    if (part < room)
      return length <= PATH_MAX ? length : 0;
  }
  return 0;
}
