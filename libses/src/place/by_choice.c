#include <stddef.h>
#include <sys/sysmacros.h>

#include "directory/default_acl.h"
#include "place/steps.h"
#include "runtime/self.h"

/* No two of these lie on the stack together. */

static __attribute__((noinline)) bool is_unsuited(struct ses_entry *entry) {
  struct ses_work work;
  return ses_entry_is_unsuited(entry, &work);
}

static __attribute__((noinline)) void finish(const struct ses_order *order,
                                             const struct ses_slot *slot) {
  int result = order->result;
  int strayed = order->entry.file.strayed;
  bool created = result >= 0 && strayed == 0;
  bool for_another = order->need && order->need->holder;
  struct ses_slot_end end = {.outcome = created ? SES_OUTCOME_CREATED : SES_OUTCOME_NOT_CREATED,
                             .error = result >= 0 ? strayed : -result,
                             .fd = created && !for_another ? result : -1,
                             .directory_device = (uint64_t)makedev(order->entry.file.parent_major,
                                                                   order->entry.file.parent_minor),
                             .directory_inode = order->entry.file.parent_inode};
  if (created) {
    end.device = order->entry.file.device;
    end.inode = order->entry.file.inode;
  }
  ses_slot_complete(slot, &end);
}

static __attribute__((noinline)) enum ses_place_status
create_there(struct ses_order *order, const struct ses_candidates *candidates,
             const struct ses_stated *stated, const struct ses_choice *choice) {
  struct ses_entry *entry = &order->entry;
  struct ses_work work;
  if (!ses_choice_answer(candidates, stated, choice, &work.answer))
    return SES_PLACE_NO_DECISION;
  int holder = order->need ? order->need->holder : 0;
  ses_slot_describe(&choice->slot, entry->file.dirfd, entry->file.path, entry->path_length,
                    ses_application_of(order->need), holder ? holder : ses_self_pid());
  ses_entry_fill_where(order->where, &work.answer);
  entry->file.bytes = choice->bytes;
  order->result = ses_entry_create(entry, &work);
  finish(order, &choice->slot);
  if (ses_is_to_be_staged_again(order))
    return SES_PLACE_NO_DECISION;
  return ses_entry_outcome(entry, order->where, order->result);
}

enum ses_place_status ses_place_by_choice(struct ses_order *order,
                                          const struct ses_candidates *candidates,
                                          const struct ses_stated *stated) {
  struct ses_entry *entry = &order->entry;
  struct ses_choice choice;
  if (!ses_directory_suits(entry->file.parent_major, entry->file.parent_minor,
                           entry->file.parent_inode) &&
      is_unsuited(entry))
    return SES_PLACE_UNSUITED;
  if (!ses_choose(candidates, stated, &choice))
    return SES_PLACE_NO_DECISION;
  return create_there(order, candidates, stated, &choice);
}
