/*
 * The types that are ready: numbers from one table, texts, bytes, functions.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coding.h"

#define IS_SIGNED(c_type) ((c_type)-1 < (c_type)1)
#define LARGEST(c_type)                                                                            \
  (IS_SIGNED(c_type) ? ((uint64_t)1 << (sizeof(c_type) * CHAR_BIT - 1)) - 1                        \
                     : UINT64_MAX >> (64 - sizeof(c_type) * CHAR_BIT))

#define WRITE_integer(value) ses_offload_write_integer(to, (int64_t)(value))
#define WRITE_unsigned(value) ses_offload_write_unsigned(to, (uint64_t)(value))
#define WRITE_real(value) ses_offload_write_real(to, (double)(value))
#define READ_integer(c_type)                                                                       \
  (c_type) ses_offload_read_integer(from, IS_SIGNED(c_type) ? -(int64_t)LARGEST(c_type) - 1 : 0,   \
                                    (int64_t)LARGEST(c_type))
#define READ_unsigned(c_type)                                                                      \
  (c_type) ses_offload_read_unsigned(from, (c_type)2 == 1 ? 1 : LARGEST(c_type))
#define READ_real(c_type) (c_type) ses_offload_read_real(from)

#define PRIMITIVE(suffix, c_type, travels)                                                         \
  static void write_##suffix(const ses_offload_type *type, const void *object,                     \
                             ses_offload_writer *to) {                                             \
    (void)type;                                                                                    \
    WRITE_##travels(*(const c_type *)object);                                                      \
  }                                                                                                \
  static void read_##suffix(const ses_offload_type *type, void *object,                            \
                            ses_offload_reader *from) {                                            \
    (void)type;                                                                                    \
    *(c_type *)object = READ_##travels(c_type);                                                    \
  }                                                                                                \
  const ses_offload_type ses_type_##suffix = {                                                     \
      #c_type, sizeof(c_type), write_##suffix, read_##suffix, NULL, NULL, 0};
SES_OFFLOAD_PRIMITIVES(PRIMITIVE)

static void write_long_double(const ses_offload_type *type, const void *object,
                              ses_offload_writer *to) {
  char text[64];
  (void)type;
  snprintf(text, sizeof text, "%La", *(const long double *)object);
  offload_write_text(to, text);
}

static void read_long_double(const ses_offload_type *type, void *object, ses_offload_reader *from) {
  char text[64], *end;
  (void)type;
  offload_read_text(from, text, sizeof text);
  long double value = strtold(text, &end);
  if (!*text || *end)
    ses_offload_read_failed(from);
  else
    memcpy(object, &value, sizeof value);
}

const ses_offload_type ses_type_longdouble = {
    "long double", sizeof(long double), write_long_double, read_long_double, NULL, NULL, 0};

/* A copy of bytes with a NUL behind them; NULL: memory is short. */
static void *copy_of(const void *data, size_t size, ses_offload_reader *from) {
  char *copy = malloc(size + 1);
  if (!copy) {
    offload_reader_fails(from, SES_OFFLOAD_MEMORY);
    return NULL;
  }
  memcpy(copy, data, size);
  copy[size] = 0;
  return copy;
}

static void write_string(const ses_offload_type *type, const void *object, ses_offload_writer *to) {
  const char *text = *(char *const *)object;
  (void)type;
  ses_offload_write_unsigned(to, text != NULL);
  if (text)
    offload_write_text(to, text);
}

static void read_string(const ses_offload_type *type, void *object, ses_offload_reader *from) {
  size_t size;
  (void)type;
  if (!ses_offload_read_unsigned(from, 1))
    return;
  const char *data = ses_offload_read_bytes(from, &size);
  if (data && memchr(data, 0, size))
    ses_offload_read_failed(from);
  else if (data)
    *(char **)object = copy_of(data, size, from);
}

static void release_string(const ses_offload_type *type, void *object) {
  (void)type;
  free(*(char **)object);
}

const ses_offload_type ses_type_string = {
    "string", sizeof(char *), write_string, read_string, release_string, NULL, 0};

static void write_bytes(const ses_offload_type *type, const void *object, ses_offload_writer *to) {
  const ses_offload_bytes *bytes = object;
  (void)type;
  if (bytes->size > 0 && !bytes->data)
    ses_offload_write_failed(to);
  else
    ses_offload_write_bytes(to, bytes->data, bytes->size);
}

static void read_bytes(const ses_offload_type *type, void *object, ses_offload_reader *from) {
  ses_offload_bytes *bytes = object;
  size_t size;
  (void)type;
  const void *data = ses_offload_read_bytes(from, &size);
  if (data && (bytes->data = copy_of(data, size, from)))
    bytes->size = size;
}

static void release_bytes(const ses_offload_type *type, void *object) {
  (void)type;
  free(((ses_offload_bytes *)object)->data);
}

const ses_offload_type ses_type_bytes = {
    "bytes", sizeof(ses_offload_bytes), write_bytes, read_bytes, release_bytes, NULL, 0};

static void write_function(const ses_offload_type *type, const void *object,
                           ses_offload_writer *to) {
  ses_offload_function function;
  (void)type;
  memcpy(&function, object, sizeof function);
  const char *name = function ? ses_offload_find_name_by_func_addr(function) : "";
  if (name)
    offload_write_text(to, name);
  else
    ses_offload_write_failed(to);
}

static void read_function(const ses_offload_type *type, void *object, ses_offload_reader *from) {
  char name[256];
  (void)type;
  offload_read_text(from, name, sizeof name);
  ses_offload_function function = *name ? ses_offload_find_func_by_name(name) : NULL;
  if (*name && !function)
    ses_offload_read_failed(from);
  *(ses_offload_function *)object = function;
}

const ses_offload_type ses_type_function = {
    "function", sizeof(ses_offload_function), write_function, read_function, NULL, NULL, 0};
