#include <stddef.h>
#include <string.h>

#include "agent/ask.h"
#include "directory/device.h"
#include "place/steps.h"
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

enum ses_place_status ses_place_by_asking(struct ses_order *order) {
  struct ses_entry *entry = &order->entry;
  struct ses_conversation conversation;
  struct ses_work work;
  fill_ask(order, &work.ask);
  if (order->where)
    order->where->asked = true;
  enum ses_place_status status = ses_ask_open(&conversation, &work.ask);
  if (status != SES_PLACE_PLACED)
    return status;
  if (ses_entry_is_unsuited(entry, &work)) { /* while the agent thinks */
    ses_ask_close(&conversation);
    return SES_PLACE_UNSUITED;
  }

  status = ses_ask_wait(&conversation, &work.answer);
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
  send_report(order, &conversation, &work, placement_id);
  return ses_entry_outcome(entry, order->where, order->result);
}
