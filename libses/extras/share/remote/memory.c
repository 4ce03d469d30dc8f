#include "remote/memory.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "remote/served.h"

#define SESSIONS (2 * SES_SERVED_MAX)

/* Shared by all processes of the agent.  A session that writes nonsense here can only have others
 * refused. */
static struct held {
  _Atomic pid_t session; /* 0: free */
  _Atomic uid_t user;
  _Atomic uint64_t bytes;
} * all; /* NULL: no limit */

static uint64_t limit;
static struct held *own;

void ses_memory_limit(uint64_t bytes) {
  void *made =
      mmap(NULL, SESSIONS * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  all = made == MAP_FAILED ? NULL : made;
  limit = bytes;
}

void ses_memory_ended(pid_t session) {
  for (size_t i = 0; all && i < SESSIONS; i++)
    if (all[i].session == session) {
      all[i].bytes = 0;
      all[i].session = 0;
    }
}

static struct held *find_own(void) {
  for (size_t i = 0; !own && i < SESSIONS; i++) {
    pid_t nobody = 0;
    if (atomic_compare_exchange_strong(&all[i].session, &nobody, getpid())) {
      all[i].user = geteuid();
      own = &all[i];
    }
  }
  return own;
}

/* All segments of USER; UINT64_MAX: that is not known. */
static uint64_t segments_of(uid_t user) {
  FILE *file = fopen("/proc/sysvipc/shm", "re");
  char line[512];
  uint64_t sum = 0;
  unsigned long long size;
  unsigned maker;
  if (!file)
    return UINT64_MAX;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "%*d %*d %*o %llu %*d %*d %*u %*u %*u %u", &size, &maker) == 2 &&
        maker == user)
      sum = size > UINT64_MAX - sum ? UINT64_MAX : sum + size;
  fclose(file);
  return sum;
}

bool ses_memory_fits(uid_t user) { return !all || segments_of(user) <= limit; }

static uint64_t held_by(uid_t user) {
  uint64_t sum = 0;
  for (size_t i = 0; i < SESSIONS; i++)
    if (all[i].session != 0 && all[i].user == user)
      sum += all[i].bytes;
  return sum;
}

/* Taken first and looked at then: of several sessions at once none is overlooked. */
bool ses_memory_take(uint64_t bytes) {
  if (!all || bytes == 0)
    return true;
  if (!find_own())
    return false;
  own->bytes += bytes;
  if (held_by(geteuid()) <= limit)
    return true;
  own->bytes -= bytes;
  return false;
}

void ses_memory_give_back(uint64_t bytes) {
  if (own)
    own->bytes -= bytes;
}
