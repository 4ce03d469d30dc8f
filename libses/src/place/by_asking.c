#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "agent/ask.h"
#include "directory/device.h"
#include "place/steps.h"
#include "runtime/clock.h"
#include "settings/settings.h"

static void fill_ask(const struct ses_order *order, struct ses_ask *ask) {
  const struct ses_need *need = order->need;
  memset(ask, 0, sizeof *ask);
  ask->device_major = order->entry.file.parent_major;
  ask->device_minor = order->entry.file.parent_minor;
  ask->expected_bytes = -1;
  if (order->entry.width < SES_WIDTH_ALL)
    ask->stripe_count = order->entry.width;
  const char *application = ses_application_of(need);
  const struct ses_wire_requirement *requirements;
  ask->requirement_count = ses_requirements_of(need, &requirements);
  memcpy(ask->requirements, requirements, ask->requirement_count * sizeof *requirements);
  if (need) {
    ask->expected_bytes = need->expected_bytes;
    ask->stripe_size = need->stripe_size;
    if (need->stripe_count > 0)
      ask->stripe_count = need->stripe_count;
    if (need->pool)
      memcpy(ask->pool, need->pool, strnlen(need->pool, sizeof ask->pool - 1));
  }
  ask->rank = ses_settings()->rank;
  memcpy(ask->application, application, strnlen(application, sizeof ask->application - 1));
}

static void send_report(const struct ses_order *order, struct ses_conversation *conversation,
                        struct ses_work *work, uint64_t placement_id) {
  int strayed = order->entry.file.strayed;
  struct ses_report *report = &work->report;
  int holder = order->need ? order->need->holder : 0;
  int result = order->result;
  memset(report, 0, sizeof *report);
  report->placement_id = placement_id;
  bool created = result >= 0 && strayed == 0;
  report->outcome = created ? SES_OUTCOME_CREATED : SES_OUTCOME_NOT_CREATED;
  report->error = result >= 0 ? strayed : -result;
  report->fd = !created ? -1 : holder ? -holder : result;
  int handle = -1;
  if (created) {
    report->device = order->entry.file.device;
    report->inode = order->entry.file.inode;
    handle = ses_ask_open_handle(result);
  }
  ses_ask_report(conversation, report, handle);
}

/* From the question to the report; CONVERSATION is open after that alone. */
static __attribute__((noinline)) enum ses_place_status ask(struct ses_order *order,
                                                           struct ses_conversation *conversation) {
  struct ses_entry *entry = &order->entry;
  struct ses_work work;
  fill_ask(order, &work.ask);
  enum ses_place_status status = ses_ask_open(conversation, &work.ask);
  if (status != SES_PLACE_PLACED)
    return status;
  if (ses_entry_is_unsuited(entry, &work)) { /* while the agent thinks */
    ses_ask_close(conversation);
    return SES_PLACE_UNSUITED;
  }

  status = ses_ask_wait(conversation, &work.answer);
  if (status == SES_PLACE_NOT_MANAGED)
    ses_device_remember(entry->file.parent_major, entry->file.parent_minor, SES_DEVICE_NOT_MANAGED,
                        true);
  if (status != SES_PLACE_PLACED)
    return status;
  uint64_t placement_id = work.answer.placement_id;
  ses_entry_fill_where(order->where, &work.answer);
  bool sized = order->need && order->need->expected_bytes > 0;
  entry->file.bytes =
      sized ? (uint64_t)order->need->expected_bytes : (uint64_t)work.answer.least_free_mib << 20;
  order->result = ses_entry_create(entry, &work);
  send_report(order, conversation, &work, placement_id);
  return ses_entry_outcome(entry, order->where, order->result);
}

/* When the agent may be asked again because a staging directory was gone: where none can be seen
 * (chroot), once in a while only. */
static _Atomic uint64_t unstaged_ms;
#define UNSTAGED_MS 1000u

bool ses_is_to_be_staged_again(const struct ses_order *order) {
  if (order->result >= 0 || !order->entry.file.unstaged)
    return false;
  uint64_t now = ses_clock_ms();
  if (now < atomic_load_explicit(&unstaged_ms, memory_order_relaxed))
    return false;
  atomic_store_explicit(&unstaged_ms, now + UNSTAGED_MS, memory_order_relaxed);
  return true;
}

enum ses_place_status ses_place_by_asking(struct ses_order *order) {
  struct ses_conversation conversation = {.fd = -1};
  if (order->where)
    order->where->asked = true;
  enum ses_place_status status = ask(order, &conversation);
  bool again = status == SES_PLACE_FAILED && ses_is_to_be_staged_again(order) &&
               ses_ask_wait_for_end(&conversation);
  ses_ask_close(&conversation);
  if (again) { /* the agent knows now that it is gone, and makes it first */
    status = ask(order, &conversation);
    ses_ask_close(&conversation);
  }
  return status;
}
