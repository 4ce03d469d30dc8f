/*
 * PostgreSQL's part of the ORCA paper: a plan goes to where a table lies, and its rows come back.
 *
 *     cc scan.c $(pkg-config --cflags --libs ses-offload libpq) -o scan
 *     scan ADDRESS SERVER QUERY          scan store1 'host=/run/postgresql' 'select ... where ...'
 *
 * SERVER is a connection string of libpq as the storage node understands it: a server there, whose
 * table can be a file beside it (file_fdw).  ADDRESS is that of ses_offload_open, or "local" for a
 * connection from this process.  The rows go to standard output, as COPY writes them; what it took,
 * as JSON, to standard error.
 */
#define _GNU_SOURCE /* asprintf */
#include <libpq-fe.h>
#include <ses/offload.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct order {
  char *server, *query;
};
static const ses_offload_field order_fields[] = {
    SES_OFFLOAD_MEMBER(struct order, server, &ses_type_string),
    SES_OFFLOAD_MEMBER(struct order, query, &ses_type_string),
};
static const ses_offload_type order_type = SES_OFFLOAD_STRUCT(struct order, order_fields);

struct answer {
  ses_offload_bytes rows;
  double server_seconds; /* CPU seconds of the server's process for this connection; 0: not known */
};
static const ses_offload_field answer_fields[] = {
    SES_OFFLOAD_MEMBER(struct answer, rows, &ses_type_bytes),
    SES_OFFLOAD_MEMBER(struct answer, server_seconds, &ses_type_double),
};
static const ses_offload_type answer_type = SES_OFFLOAD_STRUCT(struct answer, answer_fields);

/* What a process on this node has used so far. */
static double cpu_seconds_of(int process) {
  char path[64];
  unsigned long user = 0, system = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  FILE *file = fopen(path, "r");
  int read = file ? fscanf(file, "%*[^)]) %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu",
                           &user, &system)
                  : 0;
  if (file)
    fclose(file);
  return read == 2 ? (double)(user + system) / (double)sysconf(_SC_CLK_TCK) : 0;
}

/* Takes in the rows of a COPY; how it ended. */
static ExecStatusType rows_of(PGconn *connection, ses_offload_bytes *rows) {
  char *text = NULL, *row;
  int size;
  FILE *all = open_memstream(&text, &rows->size);
  while ((size = PQgetCopyData(connection, &row, 0)) > 0) {
    fwrite(row, 1, (size_t)size, all);
    PQfreemem(row);
  }
  fclose(all);
  rows->data = text;
  PGresult *ended = PQgetResult(connection);
  ExecStatusType status = PQresultStatus(ended);
  PQclear(ended);
  return status;
}

static int scan(const void *in, void *out) {
  const struct order *order = in;
  struct answer *answer = out;
  char *copy = NULL;
  PGconn *connection = PQconnectdb(order->server);
  ExecStatusType status = PGRES_FATAL_ERROR;
  if (PQstatus(connection) == CONNECTION_OK &&
      asprintf(&copy, "COPY (%s) TO STDOUT", order->query) > 0) {
    PGresult *began = PQexec(connection, copy);
    status = PQresultStatus(began);
    PQclear(began);
    if (status == PGRES_COPY_OUT)
      status = rows_of(connection, &answer->rows);
    answer->server_seconds = cpu_seconds_of(PQbackendPID(connection));
  }
  if (status != PGRES_COMMAND_OK)
    ses_offload_explain(PQerrorMessage(connection));
  PQfinish(connection);
  free(copy);
  return status != PGRES_COMMAND_OK;
}

int main(int argc, char **argv) {
  ses_offload_init(&argc, &argv);
  SES_OFFLOAD_FUNCTION(scan, &order_type, &answer_type);
  ses_offload_serve(); /* in the storage part: never returns */
  if (argc != 4) {
    fprintf(stderr, "usage: scan ADDRESS SERVER QUERY\n");
    return 2;
  }

  struct order order = {argv[2], argv[3]};
  struct answer answer = {{NULL, 0}, 0};
  ses_offload_report report = {0};
  ses_offload_domain *domain = NULL;
  int status = SES_OFFLOAD_OK;
  if (strcmp(argv[1], "local") == 0) {
    status = scan(&order, &answer) == 0 ? SES_OFFLOAD_OK : SES_OFFLOAD_FAILED;
  } else {
    status = ses_offload_open(argv[1], NULL, &domain);
    if (status == SES_OFFLOAD_OK)
      status = ses_offload_call(domain, "scan", &order, &answer, &report);
  }
  if (status != SES_OFFLOAD_OK) {
    const char *why = report.message[0] ? report.message : ses_offload_reason();
    fprintf(stderr, "scan: %s (%s)\n", ses_offload_strerror(status), why);
    ses_offload_close(domain);
    return 1;
  }
  fwrite(answer.rows.data, 1, answer.rows.size, stdout);
  fprintf(stderr, "{\"sent\": %llu, \"received\": %llu, \"server_cpu_seconds\": %.6f}\n",
          (unsigned long long)report.bytes_sent, (unsigned long long)report.bytes_received,
          answer.server_seconds);
  ses_offload_release(&answer_type, &answer);
  ses_offload_close(domain);
  return 0;
}
