/*
 * The number is kept on a page that the kernel empties in the child of every
 * fork(), however that is called.  Kernels before 4.14 do not know such pages;
 * there, and without memory, the kernel is asked each time.
 */
#include "runtime/self.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "runtime/sys.h"

#define PAGE 4096

static _Atomic(_Atomic int *) kept; /* on that page; NULL: no page */
static atomic_bool tried;

static _Atomic int *make_page(void) {
  if (atomic_exchange_explicit(&tried, true, memory_order_relaxed))
    return NULL;
  long address =
      ses_sys6(SYS_mmap, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address < 0)
    return NULL;
  if (ses_sys3(SYS_madvise, address, PAGE, MADV_WIPEONFORK) != 0) {
    ses_sys2(SYS_munmap, address, PAGE);
    return NULL;
  }
  _Atomic int *page = (_Atomic int *)(intptr_t)address;
  atomic_store_explicit(&kept, page, memory_order_release);
  return page;
}

int ses_self_pid(void) {
  _Atomic int *page = atomic_load_explicit(&kept, memory_order_acquire);
  if (!page)
    page = make_page();
  if (!page)
    return (int)ses_sys0(SYS_getpid);
  int pid = atomic_load_explicit(page, memory_order_relaxed);
  if (pid == 0) {
    pid = (int)ses_sys0(SYS_getpid);
    atomic_store_explicit(page, pid, memory_order_relaxed);
  }
  return pid;
}
