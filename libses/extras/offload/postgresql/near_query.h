/*
 * What of a query the storage node does.
 *
 * Conditions go there that both sides understand alike; all are judged again by the executor.
 */
#ifndef SES_NEAR_QUERY_H
#define SES_NEAR_QUERY_H

#include <postgres.h>

#include <access/tupdesc.h>
#include <nodes/plannodes.h>

#include "near_scan.h"

struct near_query {
  struct near_order order; /* its fields and conditions; the rest is the caller's */
  List *columns;           /* names of those that are needed */
  bool all;                /* of the table */
  List *pushed;            /* clauses that are conditions of the order */
};

/* Finds out which fields are needed, and which conditions go there.  The plan's private list has
 * the numbers of the columns that are needed, 0 for the row as a whole.  In current memory. */
void near_make_order(struct near_query *query, TupleDesc table, const ForeignScan *plan);

#endif /* SES_NEAR_QUERY_H */
