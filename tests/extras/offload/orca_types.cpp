// MARSHAL and UNMARSHAL of a list with a function in it, which travels as its number.
#include "orca_shared.h"

static int square(int value) { return value * value; }
static int (*const functions[])(int) = {nullptr, square};

int (*find_func(int which))(int) { return functions[which]; }

void marshal(void *object, char **buf, int *len) {
  const struct list *list = static_cast<struct list *>(object);
  if (list->change != square)
    return;
  *len = static_cast<int>(sizeof(int)) * list->count;
  *buf = static_cast<char *>(malloc(static_cast<size_t>(*len)));
  memcpy(*buf, list->values, static_cast<size_t>(*len));
}

void unmarshal(void *object, char *buf, int len) {
  struct list *list = static_cast<struct list *>(object);
  list->count = len / static_cast<int>(sizeof(int));
  list->values = static_cast<int *>(malloc(static_cast<size_t>(len)));
  memcpy(list->values, buf, static_cast<size_t>(len));
  list->change = square;
}

void register_list(void) {
  if (register_type("list", sizeof(struct list), marshal, unmarshal) != SES_OFFLOAD_OK)
    abort();
}
