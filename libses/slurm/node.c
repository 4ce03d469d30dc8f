/*
 * The agent learns of a user by a request for a place (ses/protocol.h).  Here one is sent for each
 * storage system, and its answer is not used, which the agent counts as no placement.
 */
#include "node.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "agent/ask.h"
#include "choice/choose.h"
#include "runtime/clock.h"
#include "segments/published.h"

#define PAUSE_NS 20000000 /* between questions */

static uint32_t word(const uint32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

/* Would a create below MOUNT be chosen from the table? */
static bool is_ready(const struct ses_table_mount *mount) {
  struct ses_candidates candidates;
  if (!ses_candidates_find(&candidates, 0, mount->device_major, mount->device_minor))
    return false;
  return word(&candidates.table->systems[candidates.system].backend) != SES_BACKEND_MERGERFS ||
         __atomic_load_n(&candidates.of.claims->head.staged[candidates.system], __ATOMIC_ACQUIRE) !=
             0;
}

/* Waits for the answer, which the agent delays while it prepares for the user. */
static void ask_about(const struct ses_table_mount *mount, uint64_t timeout_ms) {
  struct ses_conversation conversation = {.fd = -1};
  struct ses_answer answer;
  struct ses_ask ask = {.device_major = mount->device_major,
                        .device_minor = mount->device_minor,
                        .expected_bytes = -1,
                        .application = "slurm"};
  if (ses_ask_open(&conversation, &ask) != SES_PLACE_PLACED)
    return;
  conversation.deadline += (int64_t)timeout_ms * 1000000;
  if (ses_ask_wait(&conversation, &answer) == SES_PLACE_PLACED)
    ses_ask_close(&conversation);
}

void ses_node_prepare(unsigned timeout_ms) {
  const struct timespec pause = {.tv_nsec = PAUSE_NS};
  const struct ses_table *table = ses_table_segment();
  uint64_t end = ses_clock_ms() + timeout_ms;
  uint32_t count = table ? word(&table->head.mounts) : 0;
  for (uint32_t i = 0; i < count && i < SES_TABLE_MOUNTS; i++) {
    const struct ses_table_mount *mount = &table->mounts[i];
    while (word(&mount->system) < SES_TABLE_SYSTEMS && !is_ready(mount)) {
      uint64_t now = ses_clock_ms();
      if (now >= end)
        return;
      ask_about(mount, end - now);
      if (!is_ready(mount))
        nanosleep(&pause, NULL);
    }
  }
}
