/* A request as the storage part gets it, or (first byte 'r') a reply as the client gets it. */
#include <string.h>

#include "../../offload/item.h"
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

static void take(const char *bytes, size_t size) {
  ses_offload_reader from;
  struct offload_reply read;
  struct item out;
  memset(&out, 0, sizeof out);
  offload_reader_begin(&from, bytes, size);
  offload_read_reply(&from, &read);
  if (from.status != SES_OFFLOAD_OK)
    return;
  MUST(memchr(read.report.message, '\0', sizeof read.report.message));
  if (!offload_read_globals(&from))
    return;
  offload_read(&item_type, &out, &from);
  if (from.status == SES_OFFLOAD_OK) {
    (void)sum(&out);
    ses_offload_release(&item_type, &out);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool registered;
  if (!registered) {
    SES_OFFLOAD_FUNCTION(turn, &item_type, &item_type);
    SES_OFFLOAD_GLOBAL(global, &item_type);
    registered = true;
  }
  if (size == 0)
    return 0;
  char *bytes = malloc(size); /* exactly as long as it is */
  memcpy(bytes, data + 1, size - 1);
  if (data[0] == 'r') {
    take(bytes, size - 1);
  } else {
    ses_offload_writer reply;
    ses_offload_reader from;
    struct offload_reply read;
    offload_writer_begin(&reply);
    offload_perform(bytes, size - 1, &reply);
    offload_reader_begin(&from, reply.bytes.data, reply.bytes.size);
    offload_read_reply(&from, &read);
    MUST(from.status == SES_OFFLOAD_OK); /* whatever was asked, the answer can be read */
    offload_writer_free(&reply);
  }
  free(bytes);
  return 0;
}
