/* Says in "name=value" lines what the library does; the argument names what is tried. */
#include <float.h>
#include <limits.h>
#include <pthread.h>
#include <ses/offload.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "item.h"

static int level = 1;

static int pid(const void *in, void *out) {
  (void)in;
  *(int *)out = (int)getpid();
  return 0;
}
static int raise_level(const void *in, void *out) {
  (void)in;
  *(int *)out = level;
  level += 10;
  return 0;
}
static int fail(const void *in, void *out) {
  (void)out;
  ses_offload_explain("as asked");
  return *(const int *)in;
}
static int die(const void *in, void *out) {
  (void)in, (void)out;
  raise(SIGKILL);
  return 0;
}
static int caller; /* the process that calls */
static int die_elsewhere(const void *in, void *out) {
  (void)in;
  if (getpid() != caller)
    raise(SIGKILL);
  *(int *)out = (int)getpid();
  return 0;
}
static int square(const void *in, void *out) {
  *(long *)out = *(const long *)in * *(const long *)in;
  return 0;
}
static int last(const void *in, void *out) {
  const struct item *tail = in;
  while (tail->next)
    tail = tail->next;
  int number = 7;
  *(double *)out = tail->values[tail->count - 1] + tail->fixed[2];
  return tail->function ? tail->function(&number, NULL) - 7 : 0;
}
static int until_cancelled(const void *in, void *out) {
  (void)in, (void)out;
  while (!ses_offload_is_cancelled())
    usleep(1000);
  return 0;
}

static void fuzz(void) {
  char *bytes, *copy;
  size_t size, refused = 0;
  double values[] = {1, 2};
  struct item second = {"b", values, 2, {1, 2, 3}, NULL, fail};
  struct item first = {"a", values, 1, {4, 5, 6}, &second, NULL}, read;
  ses_offload_marshal(&item_type, &first, &bytes, &size);
  srand(1);
  copy = malloc(size);
  for (int turn = 0; turn < 50000; turn++) {
    memcpy(copy, bytes, size);
    for (int i = 0; i <= turn % 4; i++)
      copy[(size_t)rand() % size] = (char)rand();
    if (ses_offload_unmarshal(&item_type, &read, copy, size - (size_t)(turn % 3)) == SES_OFFLOAD_OK)
      ses_offload_release(&item_type, &read);
    else
      refused++;
  }
  printf("refused=%d\n", refused > 25000);
  first.next = &first;
  printf("cycle=%d\n", ses_offload_marshal(&item_type, &first, &copy, &size));
}

/* Every primitive type at once: its least and its greatest value. */
#define RANGES(X)                                                                                  \
  X(bool, _Bool, 0, 1)                                                                             \
  X(char, char, CHAR_MIN, CHAR_MAX)                                                                \
  X(schar, signed char, SCHAR_MIN, SCHAR_MAX)                                                      \
  X(uchar, unsigned char, 0, UCHAR_MAX)                                                            \
  X(short, short, SHRT_MIN, SHRT_MAX)                                                              \
  X(ushort, unsigned short, 0, USHRT_MAX)                                                          \
  X(int, int, INT_MIN, INT_MAX)                                                                    \
  X(uint, unsigned, 0, UINT_MAX)                                                                   \
  X(long, long, LONG_MIN, LONG_MAX)                                                                \
  X(ulong, unsigned long, 0, ULONG_MAX)                                                            \
  X(longlong, long long, LLONG_MIN, LLONG_MAX)                                                     \
  X(ulonglong, unsigned long long, 0, ULLONG_MAX)                                                  \
  X(float, float, -FLT_MAX, FLT_MIN)                                                               \
  X(double, double, -DBL_MAX, DBL_MIN)                                                             \
  X(longdouble, long double, -LDBL_MAX, LDBL_MIN)
#define RANGE_MEMBER(suffix, c_type, least, most) c_type of_##suffix[2];
#define RANGE_FIELD(suffix, c_type, least, most)                                                   \
  SES_OFFLOAD_MEMBER(struct ranges, of_##suffix, &ses_type_##suffix),
#define RANGE_VALUES(suffix, c_type, least, most) .of_##suffix = {least, most},
#define RANGE_RIGHT(suffix, c_type, least, most)                                                   \
  right += read.of_##suffix[0] == all.of_##suffix[0] && read.of_##suffix[1] == all.of_##suffix[1];
#define ONE(...) +1
struct ranges {
  RANGES(RANGE_MEMBER)
};
static const ses_offload_field ranges_fields[] = {RANGES(RANGE_FIELD)};
static const ses_offload_type ranges_type = SES_OFFLOAD_STRUCT(struct ranges, ranges_fields);

static void primitives(void) {
  char *bytes;
  size_t size;
  int right = 0;
  struct ranges all = {RANGES(RANGE_VALUES)}, read;
  ses_offload_marshal(&ranges_type, &all, &bytes, &size);
  if (ses_offload_unmarshal(&ranges_type, &read, bytes, size) == SES_OFFLOAD_OK) {
    RANGES(RANGE_RIGHT)
  }
  free(bytes);
  printf("primitives=%d of %d\n", right, 0 SES_OFFLOAD_PRIMITIVES(ONE) + 1);
}

static void names(void) {
  const char *name = ses_offload_find_name_by_func_addr(square);
  printf("names=%d\n",
         name && strcmp(name, "square") == 0 && ses_offload_find_func_by_name("square") == square &&
             !ses_offload_find_func_by_name("system") && !ses_offload_find_name_by_func_addr(NULL));
}

static void numbers(void) {
  char *bytes;
  size_t size;
  long long wide = LLONG_MIN, read = 0;
  short narrow = 1;
  long double exact = 1.0L / 3, again;
  ses_offload_marshal(SES_OFFLOAD_TYPE(wide), &wide, &bytes, &size);
  printf("wide=%d\n",
         ses_offload_unmarshal(&ses_type_longlong, &read, bytes, size) == 0 && read == wide);
  printf("narrow=%d\n", ses_offload_unmarshal(&ses_type_short, &narrow, bytes, size));
  ses_offload_marshal(SES_OFFLOAD_TYPE(exact), &exact, &bytes, &size);
  printf("exact=%d\n",
         ses_offload_unmarshal(&ses_type_longdouble, &again, bytes, size) == 0 && again == exact);
}

static void calls(void) {
  ses_offload_domain *domain, *another;
  ses_offload_report report;
  int first = 0, second = 0, number = 5;
  printf("open=%d\n",
         ses_offload_open("here", NULL, &domain) + ses_offload_open("here", NULL, &another));
  ses_offload_call(domain, "pid", NULL, &first, NULL);
  ses_offload_call(another, "pid", NULL, &second, NULL);
  printf("apart=%d\n", first && second && first != second && first != getpid());
  level = 3;
  ses_offload_call(domain, "raise_level", NULL, &number, NULL);
  printf("globals=%d %d\n", number, level);
  number = 5;
  printf("failed=%d", ses_offload_call(domain, "fail", &number, NULL, &report));
  printf(" %d %s\n", report.function_status, report.message);
  double values[] = {1, 2.5}, result = 0;
  struct item inner = {"b", values, 2, {1, 2, 3}, NULL, fail};
  struct item outer = {"a", NULL, 0, {0}, &inner, NULL};
  printf("deep=%d", ses_offload_call(domain, "last", &outer, &result, NULL));
  printf(" %g\n", result);
  printf("unknown=%d\n", ses_offload_call(domain, "system", NULL, NULL, NULL));
  ses_offload_future *runs, *waits;
  ses_offload_start(domain, "until_cancelled", NULL, &runs);
  ses_offload_start(domain, "pid", NULL, &waits);
  printf("poll=%d\n", ses_offload_poll(runs));
  printf("wait=%d\n", ses_offload_wait(runs, 0.01, NULL, NULL));
  ses_offload_cancel(runs);
  printf("cancelled=%d\n", ses_offload_wait(runs, -1, NULL, NULL));
  printf("after=%d\n", ses_offload_wait(waits, -1, &second, NULL));
  ses_offload_free(runs);
  ses_offload_free(waits);
  printf("lost=%d\n", ses_offload_call(domain, "die", NULL, NULL, NULL));
  printf("again=%d\n", ses_offload_call(domain, "pid", NULL, &first, NULL));
  printf("other=%d\n", ses_offload_call(another, "pid", NULL, &first, NULL));
  ses_offload_close(domain);
  ses_offload_close(another);
  ses_offload_options options = {.fallback = SES_OFFLOAD_FALLBACK_ALWAYS};
  ses_offload_open("here", &options, &domain);
  caller = (int)getpid();
  printf("repeated=%d", ses_offload_call(domain, "die_elsewhere", NULL, &number, &report));
  printf(" %d\n", report.ran_here && number == caller);
  ses_offload_close(domain);
}

static void *squares(void *domain) {
  size_t right = 0;
  for (long number = 0; number < 200; number++) {
    long result = -1;
    ses_offload_call(domain, "square", &number, &result, NULL);
    right += result == number * number;
  }
  return (void *)right;
}

static void threads(void) {
  ses_offload_domain *domain;
  pthread_t all[4];
  size_t right = 0;
  ses_offload_open("here", NULL, &domain);
  for (int i = 0; i < 4; i++)
    pthread_create(&all[i], NULL, squares, domain);
  for (int i = 0; i < 4; i++) {
    void *answer;
    pthread_join(all[i], &answer);
    right += (size_t)answer;
  }
  printf("right=%zu\n", right);
  ses_offload_close(domain);
}

static void fallback(const char *rsh) {
  ses_offload_options options = {.rsh = rsh, .fallback = SES_OFFLOAD_FALLBACK_START};
  ses_offload_domain *domain;
  ses_offload_report report;
  int number = 0;
  printf("open=%d\n", ses_offload_open("command:127.0.0.1", &options, &domain));
  printf("call=%d\n", ses_offload_call(domain, "pid", NULL, &number, &report));
  printf("here=%d\n", report.ran_here && number == getpid());
  ses_offload_close(domain);
  options.fallback = SES_OFFLOAD_FALLBACK_NEVER;
  printf("never=%d\n", ses_offload_open("command:127.0.0.1", &options, &domain));
  printf("reason=%s\n", ses_offload_reason());
}

static void stay(const char *rsh) {
  ses_offload_options options = {.rsh = rsh};
  ses_offload_domain *domain;
  int number = 0;
  if (ses_offload_open("command:127.0.0.1", &options, &domain) != SES_OFFLOAD_OK)
    exit(1);
  ses_offload_call(domain, "pid", NULL, &number, NULL);
  printf("part=%d\n", number);
  fflush(stdout);
  while (getchar() != EOF) {
    printf("again=%d\n", ses_offload_call(domain, "pid", NULL, &number, NULL));
    fflush(stdout);
  }
  pause();
}

/* A call that runs while its connection is cut. */
static void cut(const char *rsh) {
  ses_offload_options options = {.rsh = rsh};
  ses_offload_domain *domain;
  ses_offload_future *runs;
  if (ses_offload_open("command:127.0.0.1", &options, &domain) != SES_OFFLOAD_OK ||
      ses_offload_start(domain, "until_cancelled", NULL, &runs) != SES_OFFLOAD_OK)
    exit(1);
  printf("runs=%d\n", ses_offload_wait(runs, 0.05, NULL, NULL));
  fflush(stdout);
  printf("ended=%d\n", ses_offload_wait(runs, -1, NULL, NULL));
  ses_offload_free(runs);
  ses_offload_close(domain);
}

static void over(const char *address, const char *rsh, const char *program) {
  ses_offload_options options = {.rsh = rsh, .program = program};
  ses_offload_domain *domain = NULL;
  int number = 0;
  printf("open=%d\n", ses_offload_open(address, &options, &domain));
  printf("reason=%s\n", ses_offload_reason());
  if (!domain)
    return;
  printf("call=%d\n", ses_offload_call(domain, "pid", NULL, &number, NULL));
  printf("apart=%d\n", number && number != getpid());
  ses_offload_close(domain);
}

static void file(const char *path, const char *fallback) {
  ses_offload_options options = {.fallback = atoi(fallback)};
  ses_offload_report report;
  int number = 0;
  printf("call=%d\n", ses_offload_call_file(path, &options, "pid", NULL, &number, &report));
  printf("here=%d\n", report.ran_here);
  printf("apart=%d\n", number && number != getpid());
  printf("status=%d %s\n", report.status, report.message);
  printf("reason=%s\n", ses_offload_reason());
}

int main(int argc, char **argv) {
  ses_offload_init(&argc, &argv);
  SES_OFFLOAD_FUNCTION(pid, NULL, &ses_type_int);
  SES_OFFLOAD_FUNCTION(raise_level, NULL, &ses_type_int);
  SES_OFFLOAD_FUNCTION(fail, &ses_type_int, NULL);
  SES_OFFLOAD_FUNCTION(die, NULL, NULL);
  SES_OFFLOAD_FUNCTION(die_elsewhere, NULL, &ses_type_int);
  SES_OFFLOAD_FUNCTION(square, &ses_type_long, &ses_type_long);
  SES_OFFLOAD_FUNCTION(last, &item_type, &ses_type_double);
  SES_OFFLOAD_FUNCTION(until_cancelled, NULL, NULL);
  SES_OFFLOAD_GLOBAL(level, &ses_type_int);
  SES_OFFLOAD_GLOBAL(caller, &ses_type_int);
  if (getenv("PROBE_OTHER") && argc == 1)
    SES_OFFLOAD_GLOBAL(argc, &ses_type_int);
  ses_offload_serve();
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "fuzz") == 0)
    fuzz();
  else if (strcmp(what, "numbers") == 0)
    primitives(), names(), numbers();
  else if (strcmp(what, "calls") == 0)
    calls();
  else if (strcmp(what, "threads") == 0)
    threads();
  else if (strcmp(what, "fallback") == 0 && argc > 2)
    fallback(argv[2]);
  else if (strcmp(what, "stay") == 0 && argc > 2)
    stay(argv[2]);
  else if (strcmp(what, "cut") == 0 && argc > 2)
    cut(argv[2]);
  else if (strcmp(what, "over") == 0 && argc > 4)
    over(argv[2], argv[3], argv[4]);
  else if (strcmp(what, "file") == 0 && argc > 3)
    file(argv[2], argv[3]);
  return 0;
}
