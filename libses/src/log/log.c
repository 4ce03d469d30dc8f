#include "log/log.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "request/path.h"
#include "runtime/digits.h"
#include "runtime/self.h"
#include "runtime/sys.h"

#define LINE_MAX 512u
#define PATH_SHOWN 256u
#define LOG_PATH_MAX 256u
#define LINES_IN_SECOND 100u
#define DULL_IN_SECOND 20u /* of those about files that nobody wanted to place */
#define FILE_MODE 0600

struct line {
  unsigned used;
  char text[LINE_MAX]; /* the last byte is for the line's end */
};

static void add_bytes(struct line *line, const char *text, size_t length) {
  for (size_t i = 0; i < length && line->used < LINE_MAX - 1; i++) {
    unsigned char byte = (unsigned char)text[i];
    line->text[line->used++] = byte < ' ' || byte == 0x7f ? '?' : (char)byte;
  }
}

static void add(struct line *line, const char *text) { add_bytes(line, text, strlen(text)); }

static void add_number(struct line *line, unsigned long value, unsigned digits) {
  char text[SES_DIGITS_MAX];
  char *end = text + sizeof text;
  char *first = ses_digits(end, value, digits);
  add_bytes(line, first, (size_t)(end - first));
}

/* As 2026-11-21T12:00:00.123Z; the date from the days since 1970 as in H. Hinnant,
 * "chrono-Compatible Low-Level Date Algorithms" (public domain). */
static void add_time(struct line *line, const struct timespec *now) {
  unsigned long days = (unsigned long)now->tv_sec / 86400 + 719468;
  unsigned long seconds = (unsigned long)now->tv_sec % 86400;
  unsigned long era = days / 146097;
  unsigned long of_era = days % 146097;
  unsigned long years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  unsigned long of_year = of_era - (365 * years + years / 4 - years / 100);
  unsigned long shifted = (5 * of_year + 2) / 153;
  unsigned long month = shifted < 10 ? shifted + 3 : shifted - 9;
  add_number(line, years + era * 400 + (month <= 2), 4);
  add(line, "-");
  add_number(line, month, 2);
  add(line, "-");
  add_number(line, of_year - (153 * shifted + 2) / 5 + 1, 2);
  add(line, "T");
  add_number(line, seconds / 3600, 2);
  add(line, ":");
  add_number(line, seconds / 60 % 60, 2);
  add(line, ":");
  add_number(line, seconds % 60, 2);
  add(line, ".");
  add_number(line, (unsigned long)now->tv_nsec / 1000000, 3);
  add(line, "Z");
}

/* May this line be written, within the limits of all lines and of DULL ones in a second?  *SILENT:
 * how many were left out since the last line.  Two threads may slip through together. */
static bool has_turn(const struct timespec *now, bool dull, unsigned *silent) {
  static _Atomic long second;
  static atomic_uint written, written_dull, left_out;
  if (atomic_exchange_explicit(&second, (long)now->tv_sec, memory_order_relaxed) !=
      (long)now->tv_sec) {
    atomic_store_explicit(&written, 0, memory_order_relaxed);
    atomic_store_explicit(&written_dull, 0, memory_order_relaxed);
  }
  if ((dull &&
       atomic_fetch_add_explicit(&written_dull, 1, memory_order_relaxed) >= DULL_IN_SECOND) ||
      atomic_fetch_add_explicit(&written, 1, memory_order_relaxed) >= LINES_IN_SECOND) {
    atomic_fetch_add_explicit(&left_out, 1, memory_order_relaxed);
    return false;
  }
  *silent = atomic_exchange_explicit(&left_out, 0, memory_order_relaxed);
  return true;
}

/* SES_LOG with the process's number put in; false: too long. */
static bool log_path(char *path, size_t size) {
  size_t used = 0;
  for (const char *at = ses_settings()->log; *at; at++) {
    char digits[SES_DIGITS_MAX];
    char *end = digits + sizeof digits;
    const char *part = at;
    size_t length = 1;
    if (at[0] == '%' && at[1] == 'p') {
      part = ses_digits(end, (unsigned long)ses_self_pid(), 1);
      length = (size_t)(end - part);
      at++;
    }
    if (used + length >= size)
      return false;
    memcpy(path + used, part, length);
    used += length;
  }
  path[used] = '\0';
  return true;
}

/* A regular file that LENGTH more bytes may be written to: beyond its limit a program gets a
 * signal. */
static __attribute__((noinline)) bool takes_more(int fd, unsigned length) {
  struct stat status;
  struct rlimit limit;
  return ses_sys2(SYS_fstat, fd, ses_address(&status)) == 0 && S_ISREG(status.st_mode) &&
         ses_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, ses_address(&limit)) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY ||
          (uint64_t)status.st_size + length + LINE_MAX < limit.rlim_cur);
}

static void write_line(struct line *line) {
  char path[LOG_PATH_MAX];
  line->text[line->used++] = '\n';
  if (!log_path(path, sizeof path))
    return;
  uint64_t all = ~UINT64_C(0);
  uint64_t before = 0;
  ses_sys4(SYS_rt_sigprocmask, SIG_BLOCK, ses_address(&all), ses_address(&before), sizeof all);
  int flags =
      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_LARGEFILE;
  int fd = ses_sys_openat(AT_FDCWD, path, flags, FILE_MODE);
  if (fd > 2 && takes_more(fd, line->used))
    ses_sys3(SYS_write, fd, ses_address(line->text), line->used);
  if (fd >= 0)
    ses_sys_close(fd);
  ses_sys4(SYS_rt_sigprocmask, SIG_SETMASK, ses_address(&before), 0, sizeof before);
}

/* "time program[number] ", or false: it is not this line's turn. */
static bool begin(struct line *line, bool dull) {
  struct timespec now;
  unsigned silent = 0;
  line->used = 0;
  clock_gettime(CLOCK_REALTIME, &now);
  if (!has_turn(&now, dull, &silent))
    return false;
  add_time(line, &now);
  add(line, " ");
  add(line, ses_settings()->application);
  add(line, "[");
  add_number(line, (unsigned long)ses_self_pid(), 1);
  add(line, "] ");
  if (silent > 0) {
    add(line, "(");
    add_number(line, silent, 1);
    add(line, " lines left out) ");
  }
  return true;
}

void ses_log_note(const char *sentence, const char *what) {
  struct line line;
  if (!ses_log_is_on() || !begin(&line, false))
    return;
  add(&line, sentence);
  add_bytes(&line, what, strnlen(what, PATH_SHOWN));
  write_line(&line);
}

_Static_assert(SES_APPLICATION_MAX == 64 && SES_JOB_MAX == 64, "as the sentences below say");

/* After the settings are read (by constructor 101) and before the program runs. */
__attribute__((constructor(102))) static void note_settings(void) {
  if (ses_settings()->require_wrong)
    ses_log_note("SES_REQUIRE is ignored, not understood or too large from here on: ",
                 ses_settings()->require_wrong);
  if (ses_settings()->application_wrong)
    ses_log_note("SES_APPLICATION is ignored, longer than 63 bytes: ",
                 ses_settings()->application_wrong);
  if (ses_settings()->job_wrong)
    ses_log_note("files count for no job, its name is longer than 63 bytes: ",
                 ses_settings()->job_wrong);
}

static const char *reason(enum ses_place_status status) {
  switch (status) {
  case SES_PLACE_PLACED:
    return "placed";
  case SES_PLACE_EXISTS:
    return "plain: the name exists";
  case SES_PLACE_NOT_MANAGED:
    return "plain: not on a storage system that the site describes";
  case SES_PLACE_NO_AGENT:
    return "plain: no candidate table to choose from, and no agent to ask";
  case SES_PLACE_NO_ANSWER:
    return "plain: the agent did not answer in time";
  case SES_PLACE_NO_DECISION:
    return "plain: no element is left (ses rank says why), or the agent lacks data";
  case SES_PLACE_UNSUITED:
    return "plain: flags, mode or directory that only the original call serves";
  case SES_PLACE_EXCLUDED:
    return "plain: excluded";
  case SES_PLACE_FAILED:
    return "plain: a step failed, error ";
  }
  return "plain";
}

void ses_log_create(const char *path, const struct ses_where *where) {
  struct line line;
  bool dull = where->status == SES_PLACE_NOT_MANAGED || where->status == SES_PLACE_EXISTS;
  size_t length = ses_path_length(path);
  if (length == 0 || !begin(&line, dull))
    return;
  add_bytes(&line, path, length < PATH_SHOWN ? length : PATH_SHOWN);
  add(&line, length > PATH_SHOWN ? "...: " : ": ");
  add(&line, reason(where->status));
  if (where->status == SES_PLACE_FAILED)
    add_number(&line, (unsigned long)where->error, 1);
  if (where->status == SES_PLACE_PLACED) {
    unsigned long thousandths = (unsigned long)(where->distance * 1000 + 0.5);
    add(&line, " on ");
    add_bytes(&line, where->element, strnlen(where->element, sizeof where->element));
    add(&line, where->asked ? ", chosen by the agent" : ", chosen by the program");
    add(&line, ", distance ");
    add_number(&line, thousandths / 1000, 1);
    add(&line, ".");
    add_number(&line, thousandths % 1000, 3);
  }
  write_line(&line);
}
