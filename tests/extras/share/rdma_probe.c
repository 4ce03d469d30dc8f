/* rdma_probe NODE: put and get values of three sizes in a region of another node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ses/share.h>

static char value[300000], got[300000];

static void must(int status, const char *what) {
  if (status != 0) {
    fprintf(stderr, "%s: %s\n", what, strerror(status));
    exit(1);
  }
}

int main(int argc, char **argv) {
  static const size_t sizes[] = {8, 16384, sizeof value};
  char name[128];
  ses_share *share;
  snprintf(name, sizeof name, "rdma@%s", argc > 1 ? argv[1] : "");
  must(ses_share_create(name, &(ses_share_options){.bytes = 1 << 20}, &share), "create");
  for (unsigned i = 0; i < 3; i++) {
    ses_share_item *item;
    size_t bytes;
    ses_share_kind kind = {.bytes = sizes[i]};
    memset(value, 'a' + (int)i, sizes[i]);
    must(ses_share_alloc(share, (char[]){'0' + (char)i, 0}, &kind, &item), "alloc");
    must(ses_share_put(item, value, sizes[i], NULL), "put");
    must(ses_share_get(item, got, sizeof got, &bytes, NULL), "get");
    if (bytes != sizes[i] || memcmp(value, got, bytes) != 0)
      must(5, "the value");
  }
  must(ses_share_remove(name), "remove");
  puts("3 values of up to 300000 bytes came back whole");
  return 0;
}
