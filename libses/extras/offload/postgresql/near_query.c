#include "near_query.h"

#include <access/stratnum.h>
#include <catalog/pg_opfamily.h>
#include <catalog/pg_type.h>
#include <utils/builtins.h>
#include <utils/lsyscache.h>
#include <utils/pg_locale.h>

static Node *without_relabel(Node *node) {
  return IsA(node, RelabelType) ? (Node *)((RelabelType *)node)->arg : node;
}

static bool is_integer(Oid type) { return type == INT2OID || type == INT4OID || type == INT8OID; }

/* Of text without a longest length: what is longer is cut when it is read. */
static bool is_text(Oid type, int32 modifier) {
  return type == TEXTOID || (type == VARCHAROID && modifier == -1);
}

static int comparison_of(Oid comparison, Oid family) {
  int strategy = get_op_opfamily_strategy(comparison, family);
  Oid negator = strategy == 0 ? get_negator(comparison) : InvalidOid;
  if (OidIsValid(negator) && get_op_opfamily_strategy(negator, family) == BTEqualStrategyNumber)
    return NEAR_NOT_EQUAL;
  return strategy;
}

/* Do bytes decide as the collation does? */
static bool is_bytewise(int comparison, Oid collation) {
  if (!OidIsValid(collation))
    return false;
  return comparison == NEAR_EQUAL || comparison == NEAR_NOT_EQUAL
             ? get_collation_isdeterministic(collation)
             : lc_collate_is_c(collation);
}

static long long integer_of(const Const *constant) {
  return constant->consttype == INT2OID   ? DatumGetInt16(constant->constvalue)
         : constant->consttype == INT4OID ? DatumGetInt32(constant->constvalue)
                                          : DatumGetInt64(constant->constvalue);
}

/* A clause as the storage node understands it; false: it does not.  FIELDS: of each column. */
static bool condition_of(const OpExpr *clause, const int *fields, struct near_condition *to) {
  if (!IsA(clause, OpExpr) || list_length(clause->args) != 2)
    return false;
  Node *left = without_relabel(linitial(clause->args)),
       *right = without_relabel(lsecond(clause->args));
  Oid comparison = clause->opno;
  if (IsA(left, Const)) {
    Node *constant = left;
    left = right;
    right = constant;
    comparison = get_commutator(comparison);
  }
  const Var *column = (const Var *)left;
  const Const *constant = (const Const *)right;
  if (!IsA(left, Var) || !IsA(right, Const) || column->varattno <= 0 || constant->constisnull ||
      !OidIsValid(comparison))
    return false;
  memset(to, 0, sizeof *to);
  to->field = (unsigned)fields[column->varattno - 1];
  if (is_integer(column->vartype) && is_integer(constant->consttype)) {
    to->comparison = comparison_of(comparison, INTEGER_BTREE_FAM_OID);
    to->number = integer_of(constant);
  } else if (is_text(column->vartype, column->vartypmod) && is_text(constant->consttype, -1)) {
    to->comparison = comparison_of(comparison, TEXT_BTREE_FAM_OID);
    to->text = TextDatumGetCString(constant->constvalue);
    if (!is_bytewise(to->comparison, clause->inputcollid))
      return false;
  }
  return to->comparison != 0;
}

void near_make_order(struct near_query *query, TupleDesc table, const ForeignScan *plan) {
  bool all = list_member_int(plan->fdw_private, InvalidAttrNumber); /* the row as a whole */
  int *fields = palloc0(sizeof *fields * (size_t)table->natts), count = 0;
  char *wanted = palloc0((size_t)table->natts), *first = NULL;
  struct near_condition *conditions =
      palloc0(sizeof *conditions * (size_t)(list_length(plan->scan.plan.qual) + 1));
  ListCell *cell;
  for (int i = 0; i < table->natts; i++) {
    Form_pg_attribute column = TupleDescAttr(table, i);
    if (column->attisdropped || column->attgenerated)
      continue;
    fields[i] = count++;
    first = first ? first : NameStr(column->attname);
    wanted[fields[i]] = all || list_member_int(plan->fdw_private, i + 1);
    if (wanted[fields[i]])
      query->columns = lappend(query->columns, makeString(NameStr(column->attname)));
  }
  if (query->columns == NIL && first) { /* COPY takes no column for all of them */
    wanted[0] = 1;
    query->columns = list_make1(makeString(first));
  }
  query->all = list_length(query->columns) == count;
  if (!query->all)
    query->order.wanted = (ses_offload_bytes){wanted, (size_t)count};
  query->order.conditions = conditions;
  foreach (cell, plan->scan.plan.qual)
    if (condition_of(lfirst(cell), fields, &conditions[query->order.condition_count])) {
      query->order.condition_count++;
      query->pushed = lappend(query->pushed, lfirst(cell));
    }
}
