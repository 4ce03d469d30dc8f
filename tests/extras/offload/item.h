/* A type with a member of each sort that a description of types can have, for the tests. */
#ifndef ITEM_H
#define ITEM_H

#include "ses/offload.h"

struct item {
  char *name;
  double *values;
  unsigned count;
  int fixed[3];
  struct item *next;
  ses_offload_function function;
};
static const ses_offload_type item_type;
static const ses_offload_field item_fields[] = {
    SES_OFFLOAD_MEMBER(struct item, name, &ses_type_string),
    SES_OFFLOAD_COUNTED(struct item, values, &ses_type_double, count),
    SES_OFFLOAD_MEMBER(struct item, fixed, &ses_type_int),
    SES_OFFLOAD_POINTER(struct item, next, &item_type),
    SES_OFFLOAD_MEMBER(struct item, function, &ses_type_function),
};
static const ses_offload_type item_type = SES_OFFLOAD_STRUCT(struct item, item_fields);

#endif /* ITEM_H */
