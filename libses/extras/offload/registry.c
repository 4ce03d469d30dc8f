#include "registry.h"

#include <stdlib.h>
#include <string.h>

/* To which a type's members are looked at: a type may contain itself. */
#define DEPTH_OF_TYPES 16u

struct global {
  char name[OFFLOAD_NAME_MAX];
  void *variable;
  const ses_offload_type *type;
};

static struct offload_entry functions[SES_OFFLOAD_FUNCTIONS_MAX];
static struct global globals[SES_OFFLOAD_GLOBALS_MAX];
static size_t function_count, global_count;

static bool is_counter(const ses_offload_type *type, const ses_offload_field *member) {
  for (size_t i = 0; i < type->field_count; i++) {
    const ses_offload_field *one = &type->fields[i];
    if (one->indirect == 2 && one->counter_offset < member->offset + member->size &&
        member->offset < one->counter_offset + one->counter_size)
      return true;
  }
  return false;
}

static bool is_sound_member(const ses_offload_type *type, const ses_offload_field *one) {
  if (!one->type || one->type->size == 0 || one->offset + one->size > type->size ||
      is_counter(type, one))
    return false;
  if (one->indirect == 0)
    return one->size % one->type->size == 0;
  size_t counter = one->counter_size;
  bool counts = counter == 1 || counter == 2 || counter == 4 || counter == 8;
  return one->size == sizeof(void *) && (one->indirect == 1 || (one->indirect == 2 && counts));
}

static bool is_sound(const ses_offload_type *type, unsigned depth) {
  if (!type || depth == 0)
    return true;
  if (!type->name || !type->write || !type->read || type->size == 0)
    return false;
  for (size_t i = 0; i < type->field_count; i++)
    if (!is_sound_member(type, &type->fields[i]) || !is_sound(type->fields[i].type, depth - 1))
      return false;
  return type->write != ses_offload_write_struct || type->field_count > 0;
}

static bool is_name(const char *name) { return name && *name && strlen(name) < OFFLOAD_NAME_MAX; }

int ses_offload_register_function(const char *name, ses_offload_function function,
                                  const ses_offload_type *in, const ses_offload_type *out) {
  if (!is_name(name) || !function || !is_sound(in, DEPTH_OF_TYPES) ||
      !is_sound(out, DEPTH_OF_TYPES))
    return SES_OFFLOAD_INVALID;
  size_t at = 0;
  while (at < function_count && strcmp(functions[at].name, name) != 0)
    at++;
  if (at == SES_OFFLOAD_FUNCTIONS_MAX)
    return SES_OFFLOAD_FULL;
  strcpy(functions[at].name, name);
  functions[at].function = function;
  functions[at].in = in;
  functions[at].out = out;
  if (at == function_count)
    function_count++;
  return SES_OFFLOAD_OK;
}

int ses_offload_register_global(const char *name, void *variable, const ses_offload_type *type) {
  if (!is_name(name) || !variable || !type || !is_sound(type, DEPTH_OF_TYPES))
    return SES_OFFLOAD_INVALID;
  size_t at = 0;
  while (at < global_count && strcmp(globals[at].name, name) != 0)
    at++;
  if (at == SES_OFFLOAD_GLOBALS_MAX)
    return SES_OFFLOAD_FULL;
  strcpy(globals[at].name, name);
  globals[at].variable = variable;
  globals[at].type = type;
  if (at == global_count)
    global_count++;
  return SES_OFFLOAD_OK;
}

const struct offload_entry *offload_find(const char *name) {
  for (size_t i = 0; name && i < function_count; i++)
    if (strcmp(functions[i].name, name) == 0)
      return &functions[i];
  return NULL;
}

ses_offload_function ses_offload_find_func_by_name(const char *name) {
  const struct offload_entry *found = offload_find(name);
  return found ? found->function : NULL;
}

const char *ses_offload_find_name_by_func_addr(ses_offload_function function) {
  for (size_t i = 0; i < function_count; i++)
    if (functions[i].function == function)
      return functions[i].name;
  return NULL;
}

/* ---- the fingerprint: FNV-1a, 64 bits ---- */

static uint64_t text_into(uint64_t hash, const char *text) {
  for (;; text++) {
    hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    if (!*text)
      return hash;
  }
}

static uint64_t type_into(uint64_t hash, const ses_offload_type *type, unsigned depth) {
  hash = text_into(hash, type ? type->name : "");
  for (size_t i = 0; type && depth > 0 && i < type->field_count; i++) {
    const ses_offload_field *one = &type->fields[i];
    hash = text_into(hash, one->name) + (uint64_t)one->indirect;
    hash += one->indirect ? 0 : one->size / one->type->size;
    hash = type_into(hash, one->type, depth - 1);
  }
  return hash;
}

uint64_t offload_fingerprint(void) {
  uint64_t sum = function_count * 257 + global_count; /* the order of registering does not matter */
  for (size_t i = 0; i < function_count; i++) {
    uint64_t one = text_into(UINT64_C(14695981039346656037), functions[i].name);
    sum += type_into(type_into(one, functions[i].in, DEPTH_OF_TYPES), functions[i].out,
                     DEPTH_OF_TYPES);
  }
  for (size_t i = 0; i < global_count; i++)
    sum += type_into(text_into(1, globals[i].name), globals[i].type, DEPTH_OF_TYPES);
  return sum;
}

/* ---- globals ---- */

static void write_global(const struct global *one, const char *value, size_t size,
                         ses_offload_writer *to) {
  offload_write_text(to, one->name);
  ses_offload_write_bytes(to, value, size);
}

/* The value of a global as bytes that the caller frees. */
static char *value_of(const struct global *one, size_t *size, ses_offload_writer *to) {
  char *value = NULL;
  int status = ses_offload_marshal(one->type, one->variable, &value, size);
  if (status != SES_OFFLOAD_OK)
    offload_writer_fails(to, status);
  return value;
}

void offload_write_globals(ses_offload_writer *to) {
  ses_offload_write_unsigned(to, global_count);
  for (size_t i = 0; i < global_count; i++) {
    size_t size = 0;
    char *value = value_of(&globals[i], &size, to);
    write_global(&globals[i], value, size, to);
    free(value);
  }
}

static struct global *global_of(const char *name) {
  for (size_t i = 0; i < global_count; i++)
    if (strcmp(globals[i].name, name) == 0)
      return &globals[i];
  return NULL;
}

void offload_write_changed_globals(ses_offload_reader before, ses_offload_writer *to) {
  size_t count = ses_offload_read_count(&before), changed = 0;
  ses_offload_writer found;
  offload_writer_begin(&found);
  for (size_t i = 0; i < count && before.status == SES_OFFLOAD_OK; i++) {
    char name[OFFLOAD_NAME_MAX];
    size_t was_size, size = 0;
    offload_read_text(&before, name, sizeof name);
    const void *was = ses_offload_read_bytes(&before, &was_size);
    const struct global *one = global_of(name);
    char *value = one ? value_of(one, &size, to) : NULL;
    if (value && was && (size != was_size || memcmp(value, was, size) != 0)) {
      write_global(one, value, size, &found);
      changed++;
    }
    free(value);
  }
  if (found.status != SES_OFFLOAD_OK)
    offload_writer_fails(to, found.status);
  ses_offload_write_unsigned(to, changed);
  offload_write_message(to, &found);
  offload_writer_free(&found);
}

bool offload_read_globals(ses_offload_reader *from) {
  size_t count = ses_offload_read_count(from);
  for (size_t i = 0; i < count && from->status == SES_OFFLOAD_OK; i++) {
    char name[OFFLOAD_NAME_MAX];
    size_t size;
    offload_read_text(from, name, sizeof name);
    const void *value = ses_offload_read_bytes(from, &size);
    const struct global *one = value ? global_of(name) : NULL;
    ses_offload_reader inner;
    if (!one) {
      ses_offload_read_failed(from);
      break;
    }
    void *fresh = calloc(1, one->type->size);
    offload_reader_begin(&inner, value, size);
    if (fresh)
      offload_read(one->type, fresh, &inner);
    if (!fresh || inner.status != SES_OFFLOAD_OK) {
      offload_reader_fails(from, fresh ? inner.status : SES_OFFLOAD_MEMORY);
      free(fresh);
      break;
    }
    ses_offload_release(one->type, one->variable);
    memcpy(one->variable, fresh, one->type->size);
    free(fresh);
  }
  return from->status == SES_OFFLOAD_OK;
}
