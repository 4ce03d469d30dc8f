/*
 * The interface of ORCA by its own names, over libses-offload: Table I of Zhang
 * et al., "ORCA: An Offloading Framework for I/O-Intensive Applications on
 * Clusters", in C and C++.
 *
 *     static void count(offloading_para *ins, offloading_para *outs) { // runs on the node
 *       *(long *)outs->object = words_of(*(char **)ins->object);
 *     }
 *     int main(void) {
 *       char *path = "/data/big.txt";
 *       long words;
 *       offloading_para ins = {"string", &path}, outs = {"long", &words};
 *       init();                                    // which role is this?
 *       register_function(count);
 *       offload_call("store1", "count", &ins, &outs);
 *     }
 *
 * What the table leaves open: the storage part serves from its first
 * offload_call() on, which does not return there, so what stands before is done
 * in both parts.  init() takes the dedicated argument out of the argv of main;
 * its argc is not changed, so go through argv up to NULL.  offload_call()
 * returns a ses_offload_status (the table: void); why it failed, offload_error()
 * says.  A domain is opened by the first call to its address, and closed at the
 * exit of the program.
 *
 * Types have names.  Those of C ("char", "unsigned long", "double", ...) and
 * "string" (char *) are ready; register_type() makes others by functions of the
 * form of MARSHAL and UNMARSHAL.
 *
 * Threads: register from one thread before the first call; then offload_call()
 * may be used from any.  Trust, transport and limits are those of ses/offload.h,
 * which has errors, options, global variables and calls that run meanwhile.
 */
#ifndef SES_ORCA_H
#define SES_ORCA_H

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ses/offload.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ORCA_FUNCTIONS_MAX 256
#define ORCA_TYPES_MAX 64
#define ORCA_DOMAINS_MAX 64

/* One parameter: an object, and the name of its type. */
typedef struct offloading_para {
  const char *type;
  void *object;
} offloading_para;

/* An entry.  INS holds a copy of the caller's object, OUTS one of zero bytes to fill in. */
typedef void (*offloading_function)(offloading_para *ins, offloading_para *outs);

/* Write an object into *BUF, *LEN bytes by malloc; NULL: it cannot be written. */
typedef void (*orca_marshal)(void *object, char **buf, int *len);
/* Read an object from LEN bytes; what it points to then comes from malloc. */
typedef void (*orca_unmarshal)(void *object, char *buf, int len);

struct orca_function_ {
  const char *name;
  offloading_function function;
};

struct orca_type_ {
  const char *name;
  size_t size;
  orca_marshal marshal;
  orca_unmarshal unmarshal;
  const ses_offload_type *ready; /* of C; NULL: by the functions */
};

struct orca_domain_ {
  char *address;
  ses_offload_domain *domain;
};

/* Of the whole program, whichever of its files include this one. */
struct orca_state_ {
  int argc;
  char **argv;
  struct orca_function_ functions[ORCA_FUNCTIONS_MAX];
  struct orca_type_ types[ORCA_TYPES_MAX];
  struct orca_domain_ domains[ORCA_DOMAINS_MAX];
  int function_count, type_count, domain_count;
  pthread_mutex_t lock; /* of the domains; zero bytes are one that is free */
};
__attribute__((weak)) struct orca_state_ orca_state_;
__attribute__((weak)) __thread char orca_error_[256];

/* What travels. */
struct orca_request_ {
  char *function, *in_type, *out_type;
  ses_offload_bytes in;
};

__attribute__((constructor)) static void orca_arguments_(int argc, char **argv) {
  orca_state_.argc = argc;
  orca_state_.argv = argv;
}

static inline const ses_offload_type *orca_request_type_(void) {
  static const ses_offload_field fields[] = {
      SES_OFFLOAD_MEMBER(struct orca_request_, function, &ses_type_string),
      SES_OFFLOAD_MEMBER(struct orca_request_, in_type, &ses_type_string),
      SES_OFFLOAD_MEMBER(struct orca_request_, out_type, &ses_type_string),
      SES_OFFLOAD_MEMBER(struct orca_request_, in, &ses_type_bytes),
  };
  static const ses_offload_type type = SES_OFFLOAD_STRUCT(struct orca_request_, fields);
  return &type;
}

/* Why this thread's last offload_call() failed; "" if it did not. */
static inline const char *offload_error(void) { return orca_error_; }

static inline int orca_failed_(int status, const char *why) {
  (void)snprintf(orca_error_, sizeof orca_error_, "%s", why);
  return status;
}

static inline const struct orca_type_ *orca_type_of_(const char *name) {
  for (int i = 0; name && i < orca_state_.type_count; i++)
    if (strcmp(orca_state_.types[i].name, name) == 0)
      return &orca_state_.types[i];
  return NULL;
}

static inline int orca_add_type_(struct orca_type_ type) {
  if (orca_state_.type_count == ORCA_TYPES_MAX)
    return SES_OFFLOAD_FULL;
  orca_state_.types[orca_state_.type_count++] = type;
  return SES_OFFLOAD_OK;
}

/* A type by its functions; SIZE: bytes of an object.  OK, INVALID, FULL. */
static inline int register_type(const char *name, size_t size, orca_marshal marshal,
                                orca_unmarshal unmarshal) {
  struct orca_type_ type = {name, size, marshal, unmarshal, NULL};
  return !name || !marshal || !unmarshal || orca_type_of_(name) ? (int)SES_OFFLOAD_INVALID
                                                                : orca_add_type_(type);
}

/* MARSHAL and UNMARSHAL of a type by its name.  OK, INVALID, MEMORY, BAD_DATA, TOO_LARGE. */
static inline int orca_write_(const struct orca_type_ *type, void *object, ses_offload_bytes *to) {
  char *buf = NULL;
  int len = 0, status = SES_OFFLOAD_OK;
  if (!type)
    return SES_OFFLOAD_INVALID;
  if (type->ready)
    status = ses_offload_marshal(type->ready, object, &buf, &to->size);
  else {
    type->marshal(object, &buf, &len);
    to->size = (size_t)len;
    if (!buf || len < 0)
      status = SES_OFFLOAD_BAD_DATA;
  }
  to->data = buf;
  return status;
}

static inline int orca_read_(const struct orca_type_ *type, void *object,
                             const ses_offload_bytes *from) {
  if (!type)
    return SES_OFFLOAD_INVALID;
  if (type->ready)
    return ses_offload_unmarshal(type->ready, object, (const char *)from->data, from->size);
  if (from->size > INT_MAX)
    return SES_OFFLOAD_TOO_LARGE;
  type->unmarshal(object, (char *)from->data, (int)from->size);
  return SES_OFFLOAD_OK;
}

/* The function of a name, or NULL; the name of a function, or NULL. */
static inline offloading_function find_func_by_name(const char *name) {
  for (int i = 0; name && i < orca_state_.function_count; i++)
    if (strcmp(orca_state_.functions[i].name, name) == 0)
      return orca_state_.functions[i].function;
  return NULL;
}

static inline const char *find_name_by_func_addr(offloading_function function) {
  for (int i = 0; i < orca_state_.function_count; i++)
    if (orca_state_.functions[i].function == function)
      return orca_state_.functions[i].name;
  return NULL;
}

/* OK, INVALID, FULL. */
#define register_function(function) orca_register_function_(#function, function)
static inline int orca_register_function_(const char *name, offloading_function function) {
  struct orca_function_ *place = &orca_state_.functions[orca_state_.function_count];
  if (!function || find_func_by_name(name))
    return SES_OFFLOAD_INVALID;
  if (orca_state_.function_count == ORCA_FUNCTIONS_MAX)
    return SES_OFFLOAD_FULL;
  place->name = name;
  place->function = function;
  orca_state_.function_count++;
  return SES_OFFLOAD_OK;
}

/* In the storage part: one call.  Objects of types that have functions are freed, not what they
 * point to: the part ends with its client. */
static inline int orca_serve_call_(const void *in, void *out) {
  const struct orca_request_ *request = (const struct orca_request_ *)in;
  const struct orca_type_ *in_type = orca_type_of_(request->in_type);
  const struct orca_type_ *out_type = orca_type_of_(request->out_type);
  offloading_function function = find_func_by_name(request->function);
  if (!function || !in_type || !out_type) {
    ses_offload_explain(function ? "no type of that name is registered there"
                                 : "no function of that name is registered there");
    return SES_OFFLOAD_NO_FUNCTION;
  }
  offloading_para ins = {in_type->name, calloc(1, in_type->size)};
  offloading_para outs = {out_type->name, calloc(1, out_type->size)};
  int status = ins.object && outs.object ? orca_read_(in_type, ins.object, &request->in)
                                         : (int)SES_OFFLOAD_MEMORY;
  if (status == SES_OFFLOAD_OK) {
    function(&ins, &outs);
    status = orca_write_(out_type, outs.object, (ses_offload_bytes *)out);
  }
  if (in_type->ready && ins.object)
    ses_offload_release(in_type->ready, ins.object);
  free(ins.object);
  free(outs.object);
  if (status != SES_OFFLOAD_OK)
    ses_offload_explain(ses_offload_strerror(status));
  return status;
}

/* Decides the role, and makes types of C known.  Call it first in main. */
static inline void init(void) {
#define ORCA_READY_(suffix, c_type, travels)                                                       \
  {                                                                                                \
    struct orca_type_ type = {#c_type, sizeof(c_type), NULL, NULL, &ses_type_##suffix};            \
    (void)orca_add_type_(type);                                                                    \
  }
  SES_OFFLOAD_PRIMITIVES(ORCA_READY_)
#undef ORCA_READY_
  struct orca_type_ text = {"string", sizeof(char *), NULL, NULL, &ses_type_string};
  (void)orca_add_type_(text);
  (void)ses_offload_init(&orca_state_.argc, &orca_state_.argv);
  (void)ses_offload_register_function("orca", orca_serve_call_, orca_request_type_(),
                                      &ses_type_bytes);
}

static inline void orca_close_(void) {
  for (int i = 0; i < orca_state_.domain_count; i++)
    ses_offload_close(orca_state_.domains[i].domain);
  orca_state_.domain_count = 0;
}

/* The domain at an address, opened by the first who asks; NULL: see offload_error(). */
static inline ses_offload_domain *orca_domain_of_(const char *address, int *status) {
  ses_offload_domain *domain = NULL;
  pthread_mutex_lock(&orca_state_.lock);
  for (int i = 0; i < orca_state_.domain_count && !domain; i++)
    if (strcmp(orca_state_.domains[i].address, address) == 0)
      domain = orca_state_.domains[i].domain;
  if (!domain && orca_state_.domain_count == ORCA_DOMAINS_MAX)
    *status = orca_failed_(SES_OFFLOAD_FULL, "as many domains as there may be are open");
  else if (!domain) {
    size_t size = strlen(address) + 1;
    char *copy = (char *)malloc(size);
    if (copy)
      memcpy(copy, address, size);
    *status = copy ? ses_offload_open(address, NULL, &domain) : (int)SES_OFFLOAD_MEMORY;
    if (*status != SES_OFFLOAD_OK) {
      free(copy);
      domain = NULL;
      orca_failed_(*status,
                   *ses_offload_reason() ? ses_offload_reason() : ses_offload_strerror(*status));
    } else {
      struct orca_domain_ *place = &orca_state_.domains[orca_state_.domain_count];
      place->address = copy;
      place->domain = domain;
      if (orca_state_.domain_count++ == 0)
        atexit(orca_close_);
    }
  }
  pthread_mutex_unlock(&orca_state_.lock);
  return domain;
}

/* Runs the function of that name on a node and waits for it; ADDRESS as for ses_offload_open().
 * OUTS is untouched unless it is OK.  What ses_offload_open() and ses_offload_call() return. */
static inline int offload_call(const char *address, const char *func_name, offloading_para *ins,
                               offloading_para *outs) {
  ses_offload_serve();
  struct orca_request_ request;
  ses_offload_bytes reply = {NULL, 0};
  ses_offload_report report;
  memset(&request, 0, sizeof request);
  memset(orca_error_, 0, sizeof orca_error_);
  if (!address || !func_name || !ins || !outs)
    return orca_failed_(SES_OFFLOAD_INVALID, "an argument is missing");
  request.function = (char *)func_name;
  request.in_type = (char *)ins->type;
  request.out_type = (char *)outs->type;
  int status = orca_type_of_(outs->type)
                   ? orca_write_(orca_type_of_(ins->type), ins->object, &request.in)
                   : (int)SES_OFFLOAD_INVALID;
  if (status != SES_OFFLOAD_OK)
    return orca_failed_(status, status == SES_OFFLOAD_INVALID ? "no type of that name is registered"
                                                              : ses_offload_strerror(status));
  ses_offload_domain *domain = orca_domain_of_(address, &status);
  if (domain) {
    status = ses_offload_call(domain, "orca", &request, &reply, &report);
    if (status != SES_OFFLOAD_OK)
      orca_failed_(status, *report.message ? report.message : ses_offload_strerror(status));
    else if ((status = orca_read_(orca_type_of_(outs->type), outs->object, &reply)) !=
             SES_OFFLOAD_OK)
      orca_failed_(status, ses_offload_strerror(status));
  }
  free(request.in.data);
  ses_offload_release(&ses_type_bytes, &reply);
  return status;
}

#ifdef __cplusplus
}
#endif

#endif /* SES_ORCA_H */
