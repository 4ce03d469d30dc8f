/*
 * What near_fdw, in a server of PostgreSQL, and ses-near-scan, on the node that holds a table, say
 * to each other.
 *
 * A table is a file of text as COPY writes it.  Each call reads a piece of it; nothing is kept
 * there between calls.
 */
#ifndef SES_NEAR_SCAN_H
#define SES_NEAR_SCAN_H

#include <ses/offload.h>

#define NEAR_SCAN "near_scan" /* the function */

/* Of a comparison: the numbers of PostgreSQL's B-trees, and one more. */
enum near_comparison {
  NEAR_LESS = 1,
  NEAR_LESS_EQUAL,
  NEAR_EQUAL,
  NEAR_GREATER_EQUAL,
  NEAR_GREATER,
  NEAR_NOT_EQUAL
};

/* FIELD COMPARISON CONSTANT.  A row is left out only if it is sure not to meet a condition. */
struct near_condition {
  unsigned field; /* from 0 on */
  int comparison; /* a near_comparison */
  char *text;     /* the constant, compared byte by byte, or NULL: it is a number */
  long long number;
};
static const ses_offload_field near_condition_fields[] = {
    SES_OFFLOAD_MEMBER(struct near_condition, field, &ses_type_uint),
    SES_OFFLOAD_MEMBER(struct near_condition, comparison, &ses_type_int),
    SES_OFFLOAD_MEMBER(struct near_condition, text, &ses_type_string),
    SES_OFFLOAD_MEMBER(struct near_condition, number, &ses_type_longlong),
};
static const ses_offload_type near_condition_type =
    SES_OFFLOAD_STRUCT(struct near_condition, near_condition_fields);

/* A call: which piece of which file, and what of it. */
struct near_order {
  char *file;
  unsigned char delimiter;
  ses_offload_bytes wanted; /* a byte for each field: is it needed?  Others are returned
 empty.  None: all are needed */
  struct near_condition *conditions;
  size_t condition_count;
  unsigned long long offset, identity; /* where the last piece ended, and its file; 0 at first */
};
static const ses_offload_field near_order_fields[] = {
    SES_OFFLOAD_MEMBER(struct near_order, file, &ses_type_string),
    SES_OFFLOAD_MEMBER(struct near_order, delimiter, &ses_type_uchar),
    SES_OFFLOAD_MEMBER(struct near_order, wanted, &ses_type_bytes),
    SES_OFFLOAD_COUNTED(struct near_order, conditions, &near_condition_type, condition_count),
    SES_OFFLOAD_MEMBER(struct near_order, offset, &ses_type_ulonglong),
    SES_OFFLOAD_MEMBER(struct near_order, identity, &ses_type_ulonglong),
};
static const ses_offload_type near_order_type =
    SES_OFFLOAD_STRUCT(struct near_order, near_order_fields);

/* Rows of the piece, as the file has them. */
struct near_piece {
  ses_offload_bytes rows;
  unsigned long long offset, identity; /* for the next call */
  _Bool last;
};
static const ses_offload_field near_piece_fields[] = {
    SES_OFFLOAD_MEMBER(struct near_piece, rows, &ses_type_bytes),
    SES_OFFLOAD_MEMBER(struct near_piece, offset, &ses_type_ulonglong),
    SES_OFFLOAD_MEMBER(struct near_piece, identity, &ses_type_ulonglong),
    SES_OFFLOAD_MEMBER(struct near_piece, last, &ses_type_bool),
};
static const ses_offload_type near_piece_type =
    SES_OFFLOAD_STRUCT(struct near_piece, near_piece_fields);

#endif /* SES_NEAR_SCAN_H */
