/*
 * Whole objects and structures: MARSHAL and UNMARSHAL of ORCA's Table I.
 */
#include <stdlib.h>
#include <string.h>

#include "coding.h"

void offload_write(const ses_offload_type *type, const void *object, ses_offload_writer *to) {
  if (!type || to->status != SES_OFFLOAD_OK)
    return;
  if (!object) {
    ses_offload_write_failed(to);
    return;
  }
  type->write(type, object, to);
}

void offload_read(const ses_offload_type *type, void *object, ses_offload_reader *from) {
  if (!type || from->status != SES_OFFLOAD_OK)
    return;
  type->read(type, object, from);
  if (from->status != SES_OFFLOAD_OK)
    ses_offload_release(type, object);
}

void ses_offload_release(const ses_offload_type *type, void *object) {
  if (!type || !object)
    return;
  if (type->release)
    type->release(type, object);
  memset(object, 0, type->size);
}

int ses_offload_marshal(const ses_offload_type *type, const void *object, char **buf, size_t *len) {
  if (!type || !object || !buf || !len)
    return SES_OFFLOAD_INVALID;
  ses_offload_writer writer;
  offload_writer_begin(&writer);
  offload_write(type, object, &writer);
  int status = writer.status;
  *len = status == SES_OFFLOAD_OK ? writer.bytes.size : 0;
  *buf = status == SES_OFFLOAD_OK ? msgpack_sbuffer_release(&writer.bytes) : NULL;
  offload_writer_free(&writer);
  return status;
}

int ses_offload_unmarshal(const ses_offload_type *type, void *object, const char *buf, size_t len) {
  if (!type || !object || (!buf && len > 0))
    return SES_OFFLOAD_INVALID;
  ses_offload_reader reader;
  offload_reader_begin(&reader, buf, len);
  memset(object, 0, type->size);
  offload_read(type, object, &reader);
  if (reader.status == SES_OFFLOAD_OK && reader.done != len) {
    ses_offload_release(type, object);
    return SES_OFFLOAD_BAD_DATA;
  }
  return reader.status;
}

/* ---- structures ---- */

static uint64_t counter_of(const ses_offload_field *field, const char *object) {
  uint64_t wide = 0;
  memcpy(&wide, object + field->counter_offset, field->counter_size); /* little endian */
  return wide;
}

static void set_counter(const ses_offload_field *field, char *object, uint64_t count) {
  memcpy(object + field->counter_offset, &count, field->counter_size);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "counters are copied by their low bytes");

static const void *target_of(const ses_offload_field *field, const char *object) {
  const void *target;
  memcpy(&target, object + field->offset, sizeof target);
  return target;
}

static void write_many(const ses_offload_type *type, const char *first, uint64_t count,
                       ses_offload_writer *to) {
  for (uint64_t i = 0; i < count && to->status == SES_OFFLOAD_OK; i++)
    type->write(type, first + i * type->size, to);
}

static void write_target(const ses_offload_field *field, const char *object,
                         ses_offload_writer *to) {
  const char *target = target_of(field, object);
  uint64_t count = field->indirect == 2 ? counter_of(field, object) : target != NULL;
  if (count > SES_OFFLOAD_MESSAGE_MAX || (count > 0 && !target) ||
      ++to->depth > SES_OFFLOAD_DEPTH_MAX) {
    ses_offload_write_failed(to);
    return;
  }
  ses_offload_write_unsigned(to, count);
  write_many(field->type, target, count, to);
  to->depth--;
}

void ses_offload_write_struct(const ses_offload_type *type, const void *object,
                              ses_offload_writer *to) {
  for (size_t i = 0; i < type->field_count && to->status == SES_OFFLOAD_OK; i++) {
    const ses_offload_field *field = &type->fields[i];
    if (field->indirect)
      write_target(field, object, to);
    else
      write_many(field->type, (const char *)object + field->offset, field->size / field->type->size,
                 to);
  }
}

static void read_many(const ses_offload_type *type, char *first, size_t count,
                      ses_offload_reader *from) {
  for (size_t i = 0; i < count && from->status == SES_OFFLOAD_OK; i++)
    type->read(type, first + i * type->size, from);
}

static void read_target(const ses_offload_field *field, char *object, ses_offload_reader *from) {
  size_t count = ses_offload_read_count(from);
  bool fits = field->indirect == 2
                  ? field->counter_size >= 8 || count >> (8 * field->counter_size - 1) == 0
                  : count <= 1;
  if (!fits || from->depth >= SES_OFFLOAD_DEPTH_MAX)
    ses_offload_read_failed(from);
  if (count == 0 || from->status != SES_OFFLOAD_OK)
    return;
  void *target = calloc(count, field->type->size);
  if (!target) {
    offload_reader_fails(from, SES_OFFLOAD_MEMORY);
    return;
  }
  memcpy(object + field->offset, &target, sizeof target);
  if (field->indirect == 2)
    set_counter(field, object, count);
  from->depth++;
  read_many(field->type, target, count, from);
  from->depth--;
}

void ses_offload_read_struct(const ses_offload_type *type, void *object, ses_offload_reader *from) {
  for (size_t i = 0; i < type->field_count && from->status == SES_OFFLOAD_OK; i++) {
    const ses_offload_field *field = &type->fields[i];
    if (field->indirect)
      read_target(field, object, from);
    else
      read_many(field->type, (char *)object + field->offset, field->size / field->type->size, from);
  }
}

void ses_offload_release_struct(const ses_offload_type *type, void *object) {
  for (size_t i = 0; i < type->field_count; i++) {
    const ses_offload_field *field = &type->fields[i];
    char *first =
        field->indirect ? (char *)target_of(field, object) : (char *)object + field->offset;
    uint64_t count = field->indirect == 2 ? counter_of(field, object)
                     : field->indirect    ? 1
                                          : field->size / field->type->size;
    for (uint64_t j = 0; first && field->type->release && j < count; j++)
      field->type->release(field->type, first + j * field->type->size);
    if (field->indirect)
      free(first);
  }
}
