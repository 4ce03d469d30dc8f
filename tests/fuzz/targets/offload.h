/* What both ends of the offload wire call and read in the targets: one function, one global. */
#include <string.h>

#include "../../extras/offload/item.h"
#include "message.h"
#include "must.h"

static struct item global;

/* What came can be used: everything it points to is read. */
static double sum(const struct item *item) {
  double all = item->name ? (double)strlen(item->name) : 0;
  for (unsigned i = 0; i < item->count; i++)
    all += item->values[i];
  return item->next ? all + sum(item->next) : all;
}

static int turn(const void *in, void *out) {
  struct item *back = out;
  back->fixed[0] = sum(in) + sum(&global) > 0;
  back->name = strdup("back");
  return 0;
}

static void register_both(void) {
  static bool registered;
  if (!registered) {
    SES_OFFLOAD_FUNCTION(turn, &item_type, &item_type);
    SES_OFFLOAD_GLOBAL(global, &item_type);
  }
  registered = true;
}
