#include "coding.h"

#include <stdlib.h>
#include <string.h>

void offload_writer_begin(ses_offload_writer *writer) {
  memset(writer, 0, sizeof *writer);
  msgpack_sbuffer_init(&writer->bytes);
}

void offload_writer_free(ses_offload_writer *writer) { msgpack_sbuffer_destroy(&writer->bytes); }

void offload_reader_begin(ses_offload_reader *reader, const void *bytes, size_t size) {
  *reader = (ses_offload_reader){.bytes = bytes, .size = size};
}

static size_t bytes_left(const ses_offload_reader *reader) {
  return reader->status == SES_OFFLOAD_OK ? reader->size - reader->done : 0;
}

char *offload_reader_rest(const ses_offload_reader *reader, size_t *size) {
  size_t left = bytes_left(reader);
  char *copy = malloc(left + 1);
  if (copy && left > 0)
    memcpy(copy, reader->bytes + reader->done, left);
  *size = copy ? left : 0;
  return copy;
}

void offload_writer_fails(ses_offload_writer *writer, int status) {
  if (writer->status == SES_OFFLOAD_OK)
    writer->status = status;
}

void offload_reader_fails(ses_offload_reader *reader, int status) {
  if (reader->status == SES_OFFLOAD_OK)
    reader->status = status;
}

void ses_offload_write_failed(ses_offload_writer *to) {
  offload_writer_fails(to, SES_OFFLOAD_BAD_DATA);
}

void ses_offload_read_failed(ses_offload_reader *from) {
  offload_reader_fails(from, SES_OFFLOAD_BAD_DATA);
}

int ses_offload_reader_ok(const ses_offload_reader *from) { return from->status == SES_OFFLOAD_OK; }

/* Is there room for SIZE more bytes? */
static bool may_write(ses_offload_writer *to, size_t size) {
  if (to->status == SES_OFFLOAD_OK && size > SES_OFFLOAD_MESSAGE_MAX - to->bytes.size)
    to->status = SES_OFFLOAD_TOO_LARGE;
  return to->status == SES_OFFLOAD_OK;
}

#define NUMBER_BYTES 16 /* a number takes fewer; so does the head of a byte string */

static msgpack_packer packer_of(ses_offload_writer *to) {
  return (msgpack_packer){.data = &to->bytes, .callback = msgpack_sbuffer_write};
}

static void written(ses_offload_writer *to, int failed) {
  if (failed)
    to->status = SES_OFFLOAD_MEMORY;
}

void ses_offload_write_integer(ses_offload_writer *to, int64_t value) {
  msgpack_packer packer = packer_of(to);
  if (may_write(to, NUMBER_BYTES))
    written(to, msgpack_pack_int64(&packer, value));
}

void ses_offload_write_unsigned(ses_offload_writer *to, uint64_t value) {
  msgpack_packer packer = packer_of(to);
  if (may_write(to, NUMBER_BYTES))
    written(to, msgpack_pack_uint64(&packer, value));
}

void ses_offload_write_real(ses_offload_writer *to, double value) {
  msgpack_packer packer = packer_of(to);
  if (may_write(to, NUMBER_BYTES))
    written(to, msgpack_pack_double(&packer, value));
}

void ses_offload_write_bytes(ses_offload_writer *to, const void *data, size_t size) {
  msgpack_packer packer = packer_of(to);
  if (size > SES_OFFLOAD_MESSAGE_MAX - NUMBER_BYTES)
    offload_writer_fails(to, SES_OFFLOAD_TOO_LARGE);
  else if (may_write(to, size + NUMBER_BYTES))
    written(to, msgpack_pack_bin(&packer, size) ||
                    (size > 0 && msgpack_pack_bin_body(&packer, data, size)));
}

void offload_write_message(ses_offload_writer *to, const ses_offload_writer *part) {
  if (part->status != SES_OFFLOAD_OK)
    offload_writer_fails(to, part->status);
  else if (part->bytes.size > 0 && may_write(to, part->bytes.size))
    written(to, msgpack_sbuffer_write(&to->bytes, part->bytes.data, part->bytes.size));
}

void offload_write_text(ses_offload_writer *to, const char *text) {
  ses_offload_write_bytes(to, text ? text : "", text ? strlen(text) : 0);
}

static bool is_atom(unsigned char head) {
  bool list_or_map = (head >= 0x80 && head <= 0x9f) || (head >= 0xdc && head <= 0xdf);
  bool extension = (head >= 0xc7 && head <= 0xc9) || (head >= 0xd4 && head <= 0xd8);
  return !list_or_map && !extension && head != 0xc1;
}

static msgpack_object next(ses_offload_reader *from) {
  msgpack_object nothing = {.type = MSGPACK_OBJECT_NIL};
  if (from->status != SES_OFFLOAD_OK)
    return nothing;
  if (from->done >= from->size || !is_atom((unsigned char)from->bytes[from->done])) {
    ses_offload_read_failed(from);
    return nothing;
  }
  msgpack_unpacked unpacked;
  msgpack_unpacked_init(&unpacked);
  if (msgpack_unpack_next(&unpacked, from->bytes, from->size, &from->done) !=
      MSGPACK_UNPACK_SUCCESS)
    ses_offload_read_failed(from);
  else
    nothing = unpacked.data; /* byte strings point into the message */
  msgpack_unpacked_destroy(&unpacked);
  return nothing;
}

int64_t ses_offload_read_integer(ses_offload_reader *from, int64_t least, int64_t most) {
  msgpack_object object = next(from);
  if (object.type == MSGPACK_OBJECT_POSITIVE_INTEGER && most >= 0 &&
      object.via.u64 <= (uint64_t)most && (int64_t)object.via.u64 >= least)
    return (int64_t)object.via.u64;
  if (object.type == MSGPACK_OBJECT_NEGATIVE_INTEGER && object.via.i64 >= least &&
      object.via.i64 <= most)
    return object.via.i64;
  ses_offload_read_failed(from);
  return 0;
}

uint64_t ses_offload_read_unsigned(ses_offload_reader *from, uint64_t most) {
  msgpack_object object = next(from);
  if (object.type == MSGPACK_OBJECT_POSITIVE_INTEGER && object.via.u64 <= most)
    return object.via.u64;
  ses_offload_read_failed(from);
  return 0;
}

double ses_offload_read_real(ses_offload_reader *from) {
  msgpack_object object = next(from);
  if (object.type == MSGPACK_OBJECT_FLOAT64)
    return object.via.f64;
  ses_offload_read_failed(from);
  return 0;
}

size_t ses_offload_read_count(ses_offload_reader *from) {
  uint64_t count = ses_offload_read_unsigned(from, SES_OFFLOAD_MESSAGE_MAX);
  if (count <= bytes_left(from))
    return (size_t)count;
  ses_offload_read_failed(from);
  return 0;
}

const void *ses_offload_read_bytes(ses_offload_reader *from, size_t *size) {
  msgpack_object object = next(from);
  *size = 0;
  if (object.type != MSGPACK_OBJECT_BIN) {
    ses_offload_read_failed(from);
    return NULL;
  }
  *size = object.via.bin.size;
  return object.via.bin.size ? object.via.bin.ptr : "";
}

void offload_read_text(ses_offload_reader *from, char *text, size_t room) {
  size_t size;
  const char *data = ses_offload_read_bytes(from, &size);
  text[0] = 0;
  if (!data || size >= room || memchr(data, 0, size)) {
    ses_offload_read_failed(from);
    return;
  }
  memcpy(text, data, size);
  text[size] = 0;
}
