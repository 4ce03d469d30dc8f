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
    const ses_offload_field *field = &type->fields[i];
    if (field->indirect == 2 && field->counter_offset < member->offset + member->size &&
        member->offset < field->counter_offset + field->counter_size)
      return true;
  }
  return false;
}

static bool is_sound_member(const ses_offload_type *type, const ses_offload_field *member) {
  if (!member->type || member->type->size == 0 || member->offset + member->size > type->size ||
      is_counter(type, member))
    return false;
  if (member->indirect == 0)
    return member->size % member->type->size == 0;
  size_t counter = member->counter_size;
  bool counts = counter == 1 || counter == 2 || counter == 4 || counter == 8;
  return member->size == sizeof(void *) &&
         (member->indirect == 1 || (member->indirect == 2 && counts));
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
  const struct offload_entry *known = offload_find(name);
  return known ? known->function : NULL;
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
    const ses_offload_field *field = &type->fields[i];
    hash = text_into(hash, field->name) + (uint64_t)field->indirect;
    hash += field->indirect ? 0 : field->size / field->type->size;
    hash = type_into(hash, field->type, depth - 1);
  }
  return hash;
}

uint64_t offload_fingerprint(void) {
  uint64_t sum = function_count * 257 + global_count; /* the order of registering does not matter */
  for (size_t i = 0; i < function_count; i++) {
    uint64_t hash = text_into(UINT64_C(14695981039346656037), functions[i].name);
    sum += type_into(type_into(hash, functions[i].in, DEPTH_OF_TYPES), functions[i].out,
                     DEPTH_OF_TYPES);
  }
  for (size_t i = 0; i < global_count; i++)
    sum += type_into(text_into(1, globals[i].name), globals[i].type, DEPTH_OF_TYPES);
  return sum;
}

/* ---- globals ---- */

static void write_global(const struct global *global, const char *value, size_t size,
                         ses_offload_writer *to) {
  offload_write_text(to, global->name);
  ses_offload_write_bytes(to, value, size);
}

/* The value of a global as bytes that the caller frees. */
static char *value_of(const struct global *global, size_t *size, ses_offload_writer *to) {
  char *value = NULL;
  int status = ses_offload_marshal(global->type, global->variable, &value, size);
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
  ses_offload_writer inner;
  offload_writer_begin(&inner);
  for (size_t i = 0; i < count && before.status == SES_OFFLOAD_OK; i++) {
    char name[OFFLOAD_NAME_MAX];
    size_t was_size, size = 0;
    offload_read_text(&before, name, sizeof name);
    const void *was = ses_offload_read_bytes(&before, &was_size);
    const struct global *global = global_of(name);
    char *value = global ? value_of(global, &size, to) : NULL;
    if (value && was && (size != was_size || memcmp(value, was, size) != 0)) {
      write_global(global, value, size, &inner);
      changed++;
    }
    free(value);
  }
  if (inner.status != SES_OFFLOAD_OK)
    offload_writer_fails(to, inner.status);
  ses_offload_write_unsigned(to, changed);
  offload_write_message(to, &inner);
  offload_writer_free(&inner);
}

bool offload_read_globals(ses_offload_reader *from) {
  size_t count = ses_offload_read_count(from);
  for (size_t i = 0; i < count && from->status == SES_OFFLOAD_OK; i++) {
    char name[OFFLOAD_NAME_MAX];
    size_t size;
    offload_read_text(from, name, sizeof name);
    const void *value = ses_offload_read_bytes(from, &size);
    const struct global *global = value ? global_of(name) : NULL;
    ses_offload_reader inner;
    if (!global) {
      ses_offload_read_failed(from);
      break;
    }
    void *fresh = calloc(1, global->type->size);
    offload_reader_begin(&inner, value, size);
    if (fresh)
      offload_read(global->type, fresh, &inner);
    if (!fresh || inner.status != SES_OFFLOAD_OK) {
      offload_reader_fails(from, fresh ? inner.status : SES_OFFLOAD_MEMORY);
      free(fresh);
      break;
    }
    ses_offload_release(global->type, global->variable);
    memcpy(global->variable, fresh, global->type->size);
    free(fresh);
  }
  return from->status == SES_OFFLOAD_OK;
}
