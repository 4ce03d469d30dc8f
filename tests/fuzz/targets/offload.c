/* A request as the storage part gets it. */
#include "offload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  register_both();
  char *bytes = malloc(size); /* exactly as long as it is */
  if (size > 0)
    memcpy(bytes, data, size);
  ses_offload_writer reply;
  ses_offload_reader from;
  struct offload_reply read;
  offload_writer_begin(&reply);
  offload_perform(bytes, size, &reply);
  offload_reader_begin(&from, reply.bytes.data, reply.bytes.size);
  offload_read_reply(&from, &read);
  MUST(from.status == SES_OFFLOAD_OK); /* whatever was asked, the answer can be read */
  offload_writer_free(&reply);
  free(bytes);
  return 0;
}
