/*
 * Four programs of the ORCA paper as functions that run where the text lies.
 *
 *     cc text.c $(pkg-config --cflags --libs ses-offload) -o text
 *     text ADDRESS wc|grep|sort FILE [WORD]
 *     text ADDRESS inverted_index DIRECTORY        which words are in which of its files
 *
 * ADDRESS is that of ses_offload_open, or "local" for a run in this process.
 * The result goes to standard output; what it took, as JSON, to standard error.
 */
#define _GNU_SOURCE /* twalk_r, tdestroy */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <ses/offload.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct query {
  char *path, *word;
};
static const ses_offload_field query_fields[] = {
    SES_OFFLOAD_MEMBER(struct query, path, &ses_type_string),
    SES_OFFLOAD_MEMBER(struct query, word, &ses_type_string),
};
static const ses_offload_type query_type = SES_OFFLOAD_STRUCT(struct query, query_fields);

/* Opens what the query names; explains a failure to the caller. */
static FILE *opened(const void *in) {
  FILE *file = fopen(((const struct query *)in)->path, "r");
  if (!file)
    ses_offload_explain(strerror(errno));
  return file;
}

/* Closes it; explains to the caller why it was not read to its end. */
static int closed(FILE *file) {
  int error = ferror(file) ? errno : 0; /* of the last read */
  if (error != 0)
    ses_offload_explain(strerror(error));
  fclose(file);
  return error;
}

static int wc(const void *in, void *out) {
  FILE *file = opened(in);
  unsigned long words = 0;
  int before = ' ', next;
  if (!file)
    return errno;
  for (; (next = getc_unlocked(file)) != EOF; before = next)
    words += isspace(before) && !isspace(next);
  int error = closed(file);
  ses_offload_bytes *result = out;
  result->data = malloc(32);
  result->size = result->data ? (size_t)snprintf(result->data, 32, "%lu\n", words) : 0;
  return error;
}

static int grep(const void *in, void *out) {
  FILE *file = opened(in);
  ses_offload_bytes *result = out;
  char *line = NULL, *text = NULL;
  size_t room = 0;
  if (!file)
    return errno;
  FILE *lines = open_memstream(&text, &result->size);
  while (lines && getline(&line, &room, file) >= 0 && !ses_offload_is_cancelled())
    if (strstr(line, ((const struct query *)in)->word))
      fputs(line, lines);
  int error = closed(file);
  if (lines)
    fclose(lines);
  result->data = text;
  free(line);
  return error;
}

static int in_order(const void *first, const void *second) {
  return strcmp(*(char *const *)first, *(char *const *)second);
}

static int sort(const void *in, void *out) {
  FILE *file = opened(in);
  ses_offload_bytes *result = out;
  char **lines = NULL, *line = NULL, *sorted = NULL;
  size_t count = 0, space = 0, room = 0;
  if (!file)
    return errno;
  while (getline(&line, &room, file) >= 0) {
    if (count == space)
      lines = realloc(lines, (space = 2 * space + 1024) * sizeof *lines);
    lines[count++] = strdup(line);
  }
  int error = closed(file);
  if (count > 0)
    qsort(lines, count, sizeof *lines, in_order);
  FILE *all = open_memstream(&sorted, &result->size);
  for (size_t i = 0; i < count; free(lines[i++]))
    fputs(lines[i], all);
  fclose(all);
  result->data = sorted;
  free(lines);
  free(line);
  return error;
}

static int by_text(const void *first, const void *second) { return strcmp(first, second); }

/* Adds "WORD NAME" for each word of a file to a sorted tree, each once. */
static void add_words(void **tree, FILE *file, const char *name) {
  char word[256], *line;
  while (fscanf(file, "%255s", word) == 1 && asprintf(&line, "%s %s", word, name) > 0) {
    char **kept = tsearch(line, tree, by_text);
    if (!kept || *kept != line)
      free(line);
  }
}

static void print_line(const void *node, VISIT visit, void *to) {
  if (visit == postorder || visit == leaf)
    fprintf(to, "%s\n", *(char *const *)node);
}

static int inverted_index(const void *in, void *out) {
  DIR *directory = opendir(((const struct query *)in)->path);
  ses_offload_bytes *result = out;
  char *index = NULL;
  void *tree = NULL;
  if (!directory) {
    ses_offload_explain(strerror(errno));
    return errno;
  }
  for (struct dirent *child; (child = readdir(directory));) {
    int descriptor =
        child->d_type == DT_REG ? openat(dirfd(directory), child->d_name, O_RDONLY) : -1;
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r");
    if (!file)
      continue;
    add_words(&tree, file, child->d_name);
    fclose(file);
  }
  closedir(directory);
  FILE *lines = open_memstream(&index, &result->size);
  twalk_r(tree, print_line, lines);
  fclose(lines);
  tdestroy(tree, free);
  result->data = index;
  return 0;
}

int main(int argc, char **argv) {
  ses_offload_init(&argc, &argv);
  SES_OFFLOAD_FUNCTION(wc, &query_type, &ses_type_bytes);
  SES_OFFLOAD_FUNCTION(grep, &query_type, &ses_type_bytes);
  SES_OFFLOAD_FUNCTION(sort, &query_type, &ses_type_bytes);
  SES_OFFLOAD_FUNCTION(inverted_index, &query_type, &ses_type_bytes);
  ses_offload_serve(); /* in the storage part: never returns */
  if (argc < 4 || argc > 5) {
    fprintf(stderr, "usage: text ADDRESS wc|grep|sort|inverted_index FILE [WORD]\n");
    return 2;
  }

  struct query query = {argv[3], argc > 4 ? argv[4] : ""};
  ses_offload_bytes result = {NULL, 0};
  ses_offload_report report = {0};
  ses_offload_domain *domain = NULL;
  if (strcmp(argv[1], "local") == 0) {
    ses_offload_function function = ses_offload_find_func_by_name(argv[2]);
    if (!function || function(&query, &result) != 0)
      return 1;
  } else {
    int status = ses_offload_open(argv[1], NULL, &domain);
    if (status == SES_OFFLOAD_OK)
      status = ses_offload_call(domain, argv[2], &query, &result, &report);
    if (status != SES_OFFLOAD_OK) {
      const char *why = report.message[0] ? report.message : ses_offload_reason();
      fprintf(stderr, "text: %s%s%s%s\n", ses_offload_strerror(status), why[0] ? " (" : "", why,
              why[0] ? ")" : "");
      ses_offload_close(domain);
      return 1;
    }
  }
  if (fwrite(result.data, 1, result.size, stdout) < result.size || fflush(stdout) != 0) {
    fprintf(stderr, "text: %s\n", strerror(errno));
    return 1;
  }
  fprintf(stderr, "{\"sent\": %llu, \"received\": %llu, \"cpu_seconds\": %.6f}\n",
          (unsigned long long)report.bytes_sent, (unsigned long long)report.bytes_received,
          report.cpu_seconds);
  ses_offload_release(&ses_type_bytes, &result);
  ses_offload_close(domain);
  return 0;
}
