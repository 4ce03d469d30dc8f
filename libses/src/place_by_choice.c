#include <stddef.h>
#include <sys/sysmacros.h>

#include "directory.h"
#include "place_steps.h"
#include "self.h"

/* No two of these lie on the stack together. */

static __attribute__((noinline)) bool is_unsuited(struct ses_scene *scene) {
  struct ses_work work;
  return ses_scene_is_unsuited(scene, &work);
}

static void finish(const struct ses_order *order, const struct ses_slot *slot) {
  int result = order->result;
  int strayed = order->scene.file.strayed;
  bool created = result >= 0 && strayed == 0;
  bool for_another = order->need && order->need->holder;
  struct ses_slot_end end = {.outcome = created ? SES_OUTCOME_CREATED : SES_OUTCOME_NOT_CREATED,
                             .error = result >= 0 ? strayed : -result,
                             .fd = created && !for_another ? result : -1,
                             .directory_device = (uint64_t)makedev(order->scene.file.parent_major,
                                                                   order->scene.file.parent_minor),
                             .directory_inode = order->scene.file.parent_inode};
  if (created) {
    end.device = order->scene.file.device;
    end.inode = order->scene.file.inode;
  }
  ses_slot_complete(slot, &end);
}

static __attribute__((noinline)) enum ses_place_status
create_there(struct ses_order *order, const struct ses_spot *spot, const struct ses_stated *stated,
             const struct ses_choice *choice) {
  struct ses_scene *scene = &order->scene;
  struct ses_work work;
  if (!ses_choice_answer(spot, stated, choice, &work.answer))
    return SES_PLACE_NO_DECISION;
  int holder = order->need ? order->need->holder : 0;
  ses_slot_describe(&choice->slot, scene->file.dirfd, scene->file.path, scene->path_length,
                    ses_application_of(order->need), holder ? holder : ses_self_pid());
  ses_scene_fill_where(order->where, &work.answer);
  order->result = ses_scene_create(scene, &work);
  finish(order, &choice->slot);
  return ses_scene_outcome(scene, order->where, order->result);
}

enum ses_place_status ses_place_by_choice(struct ses_order *order, const struct ses_spot *spot,
                                          const struct ses_stated *stated) {
  struct ses_scene *scene = &order->scene;
  struct ses_choice choice;
  if (!ses_directory_suits(scene->file.parent_major, scene->file.parent_minor,
                           scene->file.parent_inode) &&
      is_unsuited(scene))
    return SES_PLACE_UNSUITED;
  if (!ses_choose(spot, stated, &choice))
    return SES_PLACE_NO_DECISION;
  return create_there(order, spot, stated, &choice);
}
