/*
 * near_fdw: a foreign data wrapper of PostgreSQL whose tables are files of other nodes, read there
 * by ses-near-scan.
 *
 * Conditions that both sides understand alike go to the storage node, and so do the columns that
 * are needed.  What comes back is read by COPY, as file_fdw reads a file, and judged again by the
 * executor: a condition that goes there only saves rows.  A session keeps its storage parts until
 * it ends.
 */
#include <postgres.h>

#include <unistd.h>

#include <access/reloptions.h>
#include <access/sysattr.h>
#include <catalog/pg_authid.h>
#include <catalog/pg_foreign_server.h>
#include <catalog/pg_foreign_table.h>
#include <commands/copy.h>
#include <commands/defrem.h>
#include <commands/explain.h>
#include <foreign/fdwapi.h>
#include <foreign/foreign.h>
#include <mb/pg_wchar.h>
#include <miscadmin.h>
#include <nodes/makefuncs.h>
#include <optimizer/cost.h>
#include <optimizer/optimizer.h>
#include <optimizer/pathnode.h>
#include <optimizer/planmain.h>
#include <optimizer/restrictinfo.h>
#include <rewrite/rewriteManip.h>
#include <utils/acl.h>
#include <utils/builtins.h>
#include <utils/memutils.h>
#include <utils/rel.h>
#include <utils/ruleutils.h>

#include "near_query.h"

PG_MODULE_MAGIC;

#define WAIT_SECONDS 0.05 /* between two looks whether the query was cancelled */
#define ROWS_GUESSED 1e6

/* A storage part; of the session. */
struct part {
  char *address; /* and how it is reached */
  ses_offload_domain *domain;
  int users; /* scans */
  bool lost; /* closed when its last user ends */
  struct part *next;
};
static struct part *parts;

/* A scan that runs, or is explained.  Its memory is that of the query. */
struct scan {
  struct near_query query;
  Oid server;
  struct part *part;
  bool reused; /* the part ran already, and may have ended since */
  ses_offload_future *future;
  struct near_piece piece;
  size_t given; /* bytes of its rows that COPY has */
  uint64 received;
  CopyFromState copy;
  MemoryContextCallback end;
};
static struct scan *reading; /* for which COPY asks */

void _PG_init(void);
PG_FUNCTION_INFO_V1(near_fdw_handler);
PG_FUNCTION_INFO_V1(near_fdw_validator);

/* ---- options ---- */

static const struct {
  const char *name;
  Oid catalog;
} known[] = {
    {"node", ForeignServerRelationId},     {"program", ForeignServerRelationId},
    {"rsh", ForeignServerRelationId},      {"filename", ForeignTableRelationId},
    {"delimiter", ForeignTableRelationId},
};

static char *option_of(List *options, const char *name) {
  ListCell *cell;
  foreach (cell, options)
    if (strcmp(lfirst_node(DefElem, cell)->defname, name) == 0)
      return defGetString(lfirst_node(DefElem, cell));
  return NULL;
}

static void refuse_unknown(const char *name, Oid catalog) {
  size_t at = 0;
  while (at < lengthof(known) &&
         (strcmp(name, known[at].name) != 0 || known[at].catalog != catalog))
    at++;
  if (at == lengthof(known))
    ereport(ERROR, errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
            errmsg("near_fdw has no option \"%s\" here", name));
}

Datum near_fdw_validator(PG_FUNCTION_ARGS) {
  List *options = untransformRelOptions(PG_GETARG_DATUM(0)), *of_copy = NIL;
  Oid catalog = PG_GETARG_OID(1);
  const char *needed = catalog == ForeignTableRelationId    ? "filename"
                       : catalog == ForeignServerRelationId ? "node"
                                                            : NULL;
  ListCell *cell;
  if (options != NIL && !has_privs_of_role(GetUserId(), ROLE_PG_EXECUTE_SERVER_PROGRAM))
    ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("options of near_fdw need the privileges of pg_execute_server_program"));
  foreach (cell, options) {
    refuse_unknown(lfirst_node(DefElem, cell)->defname, catalog);
    if (strcmp(lfirst_node(DefElem, cell)->defname, "delimiter") == 0)
      of_copy = list_make1(lfirst(cell));
  }
  if (needed && !option_of(options, needed))
    ereport(ERROR, errcode(ERRCODE_FDW_OPTION_NAME_NOT_FOUND),
            errmsg("near_fdw needs the option \"%s\" here", needed));
  if (catalog == ForeignTableRelationId && !is_absolute_path(option_of(options, "filename")))
    ereport(ERROR, errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
            errmsg("\"filename\" must be an absolute path"));
  ProcessCopyOptions(NULL, NULL, true, of_copy);
  PG_RETURN_VOID();
}

/* ---- planning ---- */

static void near_size(PlannerInfo *root, RelOptInfo *table, Oid relation) {
  (void)relation;
  if (table->tuples < 0)
    table->tuples = ROWS_GUESSED;
  set_baserel_size_estimates(root, table);
}

static void near_paths(PlannerInfo *root, RelOptInfo *table, Oid relation) {
  Cost total = table->tuples * cpu_operator_cost + table->rows * cpu_tuple_cost;
  (void)relation;
  add_path(table, (Path *)create_foreignscan_path(root, table, NULL, table->rows, 0, total, NIL,
                                                  NULL, NULL, NIL));
}

/* The plan carries the numbers of the columns that are needed. */
static ForeignScan *near_plan(PlannerInfo *root, RelOptInfo *table, Oid relation, ForeignPath *path,
                              List *targets, List *clauses, Plan *outer) {
  Bitmapset *used = NULL;
  List *columns = NIL;
  ListCell *cell;
  int at = -1;
  (void)root, (void)relation, (void)path;
  pull_varattnos((Node *)table->reltarget->exprs, table->relid, &used);
  foreach (cell, table->baserestrictinfo)
    pull_varattnos((Node *)lfirst_node(RestrictInfo, cell)->clause, table->relid, &used);
  while ((at = bms_next_member(used, at)) >= 0)
    columns = lappend_int(columns, at + FirstLowInvalidHeapAttributeNumber);
  return make_foreignscan(targets, extract_actual_clauses(clauses, false), table->relid, NIL,
                          columns, NIL, NIL, outer);
}

/* ---- storage parts ---- */

static void fail(int code, const char *what, const char *of, int status, const char *why) {
  ereport(ERROR, errcode(code), errmsg("%s: %s: %s", of, what, ses_offload_strerror(status)),
          *why ? errdetail("%s.", why) : 0);
}

static void leave(struct scan *scan) {
  struct part *part = scan->part, **at = &parts;
  scan->part = NULL;
  if (!part || --part->users > 0 || !part->lost)
    return;
  while (*at != part)
    at = &(*at)->next;
  *at = part->next;
  ses_offload_close(part->domain);
  pfree(part->address);
  pfree(part);
}

/* Gives the scan the storage part of its server: one that runs, else it is started. */
static void enter(struct scan *scan) {
  List *given = GetForeignServer(scan->server)->options;
  const char *node = option_of(given, "node"), *rsh = option_of(given, "rsh"),
             *program = option_of(given, "program");
  char *address = psprintf("%s\n%s\n%s", node, rsh ? rsh : "", program ? program : "");
  struct part *part = parts;
  while (part && (part->lost || strcmp(part->address, address) != 0))
    part = part->next;
  scan->reused = part != NULL;
  if (!part) {
    ses_offload_options options = {.rsh = rsh, .program = program};
    ses_offload_domain *domain = NULL;
    /* The storage part works in the directory of its caller, and there is none of the server's. */
    int status =
        chdir("/") == 0 ? ses_offload_open(node, &options, &domain) : SES_OFFLOAD_NOT_STARTED;
    if (chdir(DataDir) != 0)
      ereport(FATAL, errmsg("cannot return to the directory \"%s\": %m", DataDir));
    if (status != SES_OFFLOAD_OK)
      fail(ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION, "a scan cannot be started there", node,
           status, ses_offload_reason());
    part = MemoryContextAllocZero(TopMemoryContext, sizeof *part);
    part->address = MemoryContextStrdup(TopMemoryContext, address);
    part->domain = domain;
    part->next = parts;
    parts = part;
  }
  part->users++;
  scan->part = part;
}

/* ---- scanning ---- */

/* Ends what runs there. */
static void give_up(struct scan *scan) {
  ses_offload_free(scan->future);
  scan->future = NULL;
  ses_offload_release(&near_piece_type, &scan->piece);
}

/* Called when the memory of the query goes, also after an error. */
static void end_scan(void *of) {
  struct scan *scan = of;
  give_up(scan);
  leave(scan);
}

static void start_piece(struct scan *scan) {
  int status = ses_offload_start(scan->part->domain, NEAR_SCAN, &scan->query.order, &scan->future);
  if (status != SES_OFFLOAD_OK)
    fail(ERRCODE_FDW_ERROR, "it cannot be asked for", scan->query.order.file, status, "");
}

/* Waits for the piece that was asked for, and asks for the next one. */
static void next_piece(struct scan *scan) {
  ses_offload_report report;
  int status;
  ses_offload_release(&near_piece_type, &scan->piece);
  scan->given = 0;
  if (!scan->future)
    start_piece(scan);
  do
    CHECK_FOR_INTERRUPTS();
  while ((status = ses_offload_wait(scan->future, WAIT_SECONDS, &scan->piece, &report)) ==
         SES_OFFLOAD_NOT_YET);
  ses_offload_free(scan->future);
  scan->future = NULL;
  scan->part->lost = scan->part->lost || status == SES_OFFLOAD_LOST;
  if (status == SES_OFFLOAD_LOST && scan->reused && scan->query.order.offset == 0) {
    leave(scan);
    enter(scan);
    next_piece(scan);
    return;
  }
  if (status != SES_OFFLOAD_OK)
    fail(ERRCODE_FDW_ERROR, "it cannot be read there", scan->query.order.file, status,
         report.message);
  scan->received += report.bytes_received;
  scan->query.order.offset = scan->piece.offset;
  scan->query.order.identity = scan->piece.identity;
  if (!scan->piece.last)
    start_piece(scan);
}

/* What COPY reads from. */
static int read_rows(void *buffer, int least, int most) {
  struct scan *scan = reading;
  (void)least;
  while (scan->given == scan->piece.rows.size) {
    if (scan->piece.last)
      return 0;
    next_piece(scan);
  }
  size_t size = Min((size_t)most, scan->piece.rows.size - scan->given);
  memcpy(buffer, (char *)scan->piece.rows.data + scan->given, size);
  scan->given += size;
  return (int)size;
}

static void begin_copy(ForeignScanState *node) {
  struct scan *scan = node->fdw_state;
  List *options = list_make1(
      makeDefElem("encoding", (Node *)makeString(pstrdup(GetDatabaseEncodingName())), -1));
  char delimiter[] = {(char)scan->query.order.delimiter, 0};
  options = lappend(options, makeDefElem("delimiter", (Node *)makeString(pstrdup(delimiter)), -1));
  if (!scan->query.all)
    options = lappend(options, makeDefElem("convert_selectively", (Node *)scan->query.columns, -1));
  scan->copy =
      BeginCopyFrom(NULL, node->ss.ss_currentRelation, NULL, NULL, false, read_rows, NIL, options);
}

static void near_begin(ForeignScanState *node, int flags) {
  Relation table = node->ss.ss_currentRelation;
  ForeignTable *options = GetForeignTable(RelationGetRelid(table));
  const char *delimiter = option_of(options->options, "delimiter");
  struct scan *scan = palloc0(sizeof *scan);
  node->fdw_state = scan;
  scan->server = options->serverid;
  scan->query.order.file = option_of(options->options, "filename");
  scan->query.order.delimiter = (unsigned char)(delimiter ? delimiter[0] : '\t');
  near_make_order(&scan->query, RelationGetDescr(table), (ForeignScan *)node->ss.ps.plan);
  if (flags & EXEC_FLAG_EXPLAIN_ONLY)
    return;
  scan->end = (MemoryContextCallback){.func = end_scan, .arg = scan};
  MemoryContextRegisterResetCallback(CurrentMemoryContext, &scan->end);
  enter(scan);
  begin_copy(node);
}

static TupleTableSlot *near_iterate(ForeignScanState *node) {
  struct scan *scan = node->fdw_state, *outer = reading;
  TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
  ErrorContextCallback context = {
      .callback = CopyFromErrorCallback, .arg = scan->copy, .previous = error_context_stack};
  ExecClearTuple(slot);
  error_context_stack = &context;
  reading = scan;
  if (NextCopyFrom(scan->copy, NULL, slot->tts_values, slot->tts_isnull))
    ExecStoreVirtualTuple(slot);
  reading = outer;
  error_context_stack = context.previous;
  return slot;
}

static void near_rescan(ForeignScanState *node) {
  struct scan *scan = node->fdw_state;
  give_up(scan);
  scan->given = 0;
  scan->query.order.offset = scan->query.order.identity = 0;
  EndCopyFrom(scan->copy);
  begin_copy(node);
}

static void near_end(ForeignScanState *node) {
  struct scan *scan = node->fdw_state;
  if (scan->copy) /* not only explained */
    EndCopyFrom(scan->copy);
  give_up(scan);
}

static void near_explain(ForeignScanState *node, ExplainState *to) {
  struct scan *scan = node->fdw_state;
  Relation table = node->ss.ss_currentRelation;
  ExplainPropertyText("Near File", scan->query.order.file, to);
  ExplainPropertyText("Near Node", option_of(GetForeignServer(scan->server)->options, "node"), to);
  if (scan->query.pushed != NIL) {
    Node *clauses = (Node *)make_ands_explicit(copyObject(scan->query.pushed));
    List *names = deparse_context_for(RelationGetRelationName(table), RelationGetRelid(table));
    ChangeVarNodes(clauses, (int)((Scan *)node->ss.ps.plan)->scanrelid, 1, 0);
    ExplainPropertyText("Near Filter", deparse_expression(clauses, names, false, false), to);
  }
  ExplainPropertyInteger("Near Columns", NULL, list_length(scan->query.columns), to);
  if (to->analyze)
    ExplainPropertyInteger("Near Received", "bytes", (int64)scan->received, to);
}

/* ---- the extension ---- */

/* Runs there alone. */
static int never_here(const void *in, void *out) {
  (void)in, (void)out;
  return 1;
}

void _PG_init(void) {
  char *words[] = {"postgres", NULL}, **arguments = words;
  int count = 1;
  ses_offload_init(&count, &arguments);
  ses_offload_set_command((const char *const[]){"ses-near-scan", NULL});
  ses_offload_register_function(NEAR_SCAN, never_here, &near_order_type, &near_piece_type);
}

Datum near_fdw_handler(PG_FUNCTION_ARGS) {
  FdwRoutine *routine = makeNode(FdwRoutine);
  routine->GetForeignRelSize = near_size;
  routine->GetForeignPaths = near_paths;
  routine->GetForeignPlan = near_plan;
  routine->BeginForeignScan = near_begin;
  routine->IterateForeignScan = near_iterate;
  routine->ReScanForeignScan = near_rescan;
  routine->EndForeignScan = near_end;
  routine->ExplainForeignScan = near_explain;
  PG_RETURN_POINTER(routine);
}
