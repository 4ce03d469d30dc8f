/*
 * smed-mirror: the tables of other nodes' smed-sampler, kept in shared memory of this node, so that
 * its monitor reads counters of a few milliseconds ago without asking anybody.
 *
 * A thread for each sampler holds a channel to it (channel.h, exchange.h).  Where the sampler
 * offers a window and --one-sided allows it, the main loop reads all windows together every period,
 * and the thread only says that the readings are wanted and watches whether the channel lives; else
 * the thread pulls the table over the channel every period.  It pulls, too, until the first reading
 * of a window has come; a window that cannot be read is tried again every ten seconds.
 *
 * Says on standard error when the way to a sampler changes.  Ends with SIGTERM or SIGINT.
 */
#include "channel.h"
#include "exchange.h"
#include "mirrored.h"
#include "periodic.h"
#include "system/clock.h"
#include "system/command_line.h"
#include "system/core.h"
#include "system/pause.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "smed-mirror"
#define MAX_SAMPLERS 256 /* samplers */
#define CONNECT_MS 2000u
#define ANSWER_MS 1000u
#define LOST_NS 2000000000ull /* a reading that takes longer will not come */
#define RETRY_MS 10000u       /* until one-sided reads that failed are tried again */
#define SAY_NS 500000000ull
#define AGAIN_MS 500u    /* until the next try to connect */
#define LOOK_MS 50u      /* between two looks whether a channel lives and somebody asks */
#define SPIN_NS 20000ull /* readings by hardware are there by then */
#define PAUSE_NS 50000ull

static struct {
  const char *directory; /* where the tables are kept */
  const char *key_file;
  int period_ms;
  int core; /* to stay on and poll; -1: any, and sleep */
  bool one_sided;
  bool sleep; /* on that core, too */
  bool always;
} options = {.period_ms = 4, .core = -1};

struct sampler {
  struct ses_tcp_address address;
  char name[65], path[PATH_MAX];
  struct smed_mirrored mirrored;
  struct smed_channel *channel;
  struct smed_table *copy; /* room for what is pulled */
  enum smed_via via;
  const char *why;   /* what was said last */
  char provider[32]; /* of the window */
  uint64_t retry_ns; /* when to try its window again */
  pthread_t thread;
  /* Shared with the main loop, under `lock`. */
  struct smed_fabric *fabric;
  uint64_t begun_ns; /* when a reading was begun; 0: none is */
  bool lost, works;  /* readings of the window fail, have come */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t period_ns;

static bool is_asked(const struct sampler *sampler) {
  const struct smed_table *table = sampler->mirrored.table;
  return options.always || (table != NULL && smed_table_is_asked(table, ses_now_ns()));
}

/* The way to the sampler is VIA from now on; say so, and WHY, when it was another. */
static void go_by(struct sampler *sampler, enum smed_via via, const char *why) {
  static const char *const said[] = {"", "read one-sidedly", "asked over TCP", "not reached"};

  if (sampler->mirrored.table != NULL)
    atomic_store_explicit(&sampler->mirrored.table->via, via, memory_order_relaxed);
  if (sampler->via != via || sampler->why != why)
    fprintf(stderr, "smed-mirror: %s is %s: %s\n", sampler->name, said[via], why);
  sampler->via = via;
  sampler->why = why;
}

static void close_fabric(struct sampler *sampler) {
  pthread_mutex_lock(&lock);
  struct smed_fabric *fabric = sampler->fabric;
  sampler->fabric = NULL;
  sampler->lost = sampler->works = false;
  sampler->begun_ns = 0;
  pthread_mutex_unlock(&lock);
  if (fabric != NULL)
    smed_fabric_close(fabric);
}

/* Pull, and try the window of OFFER beside, where there is one. */
static void choose_way(struct sampler *sampler, const struct smed_offer *offer) {
  const char *why = "it offers no one-sided reads";
  struct smed_fabric *fabric = NULL;

  if (!options.one_sided)
    why = "without --one-sided";
  else if (offer->window.provider[0] != '\0' && offer->window.bytes == offer->bytes)
    fabric = smed_fabric_look(&offer->window, sampler->address.host, &why);
  sampler->retry_ns = options.one_sided ? ses_in_ms(RETRY_MS) : UINT64_MAX;
  if (fabric == NULL) {
    go_by(sampler, SMED_VIA_PULL, why);
    return;
  }
  strcpy(sampler->provider, offer->window.provider);
  sampler->via = SMED_VIA_PULL; /* said when it comes to that */
  atomic_store_explicit(&sampler->mirrored.table->via, SMED_VIA_PULL, memory_order_relaxed);
  pthread_mutex_lock(&lock);
  sampler->fabric = fabric;
  pthread_mutex_unlock(&lock);
}

static bool greet(struct sampler *sampler, struct smed_offer *offer, const char **why) {
  uint64_t soon = ses_in_ms(CONNECT_MS);
  struct smed_hello hello = {SMED_HELLO_MAGIC, SMED_EXCHANGE_VERSION};

  sampler->channel = smed_channel_open(&sampler->address, soon, why);
  if (sampler->channel == NULL)
    return false;
  *why = "it is of another version, or of a machine of another byte order";
  if (!smed_channel_send(sampler->channel, &hello, sizeof(hello), soon) ||
      !smed_channel_receive(sampler->channel, offer, sizeof(*offer), soon) ||
      memcmp(&offer->hello, &hello, sizeof(hello)) != 0 || offer->count == 0 ||
      offer->count > SMED_TABLE_MAX || offer->bytes != smed_table_bytes(offer->count))
    return false;
  offer->window.provider[sizeof(offer->window.provider) - 1] = '\0';
  *why = "its table cannot be kept here";
  free(sampler->copy);
  sampler->copy = malloc(offer->bytes);
  return sampler->copy != NULL && offer->window.address_bytes <= SMED_FABRIC_ADDRESS &&
         smed_mirrored_begin(&sampler->mirrored, sampler->path, offer->count);
}

static bool pull(struct sampler *sampler, uint32_t bytes) {
  static const char say = SMED_SAY_PULL;
  uint64_t soon = ses_in_ms(ANSWER_MS);

  if (!smed_channel_send(sampler->channel, &say, 1, soon) ||
      !smed_channel_receive(sampler->channel, sampler->copy, bytes, soon))
    return false;
  pthread_mutex_lock(&lock);
  bool taken = smed_mirrored_take(&sampler->mirrored, sampler->copy, ses_now_ns());
  pthread_mutex_unlock(&lock);
  return taken;
}

/* Say every half second that the channel is in use. */
static bool say(struct sampler *sampler, bool asked, uint64_t *last_ns) {
  const char what = asked ? SMED_SAY_AWAKE : SMED_SAY_NOTHING;
  uint64_t now = ses_now_ns();

  if (now - *last_ns < SAY_NS)
    return true;
  *last_ns = now;
  return smed_channel_send(sampler->channel, &what, 1, ses_in_ms(ANSWER_MS));
}

/* Follow what became of one-sided reads. */
static void review(struct sampler *sampler, const struct smed_offer *offer) {
  pthread_mutex_lock(&lock);
  bool lost = sampler->lost, works = sampler->works, none = sampler->fabric == NULL;
  pthread_mutex_unlock(&lock);
  if (lost) {
    close_fabric(sampler);
    if (!smed_channel_gone(sampler->channel))
      go_by(sampler, SMED_VIA_PULL, "one-sided reads fail");
  } else if (works && sampler->via != SMED_VIA_ONE_SIDED) {
    go_by(sampler, SMED_VIA_ONE_SIDED, sampler->provider);
  } else if (none && ses_now_ns() > sampler->retry_ns) {
    choose_way(sampler, offer);
  }
}

/* Until the channel is lost. */
static const char *follow(struct sampler *sampler, const struct smed_offer *offer) {
  uint64_t said_ns = 0, due = ses_now_ns();

  for (;;) {
    bool asked = is_asked(sampler);

    review(sampler, offer);
    if (sampler->via == SMED_VIA_PULL && asked) {
      due = due + period_ns > ses_now_ns() ? due + period_ns : ses_now_ns();
      if (!pull(sampler, offer->bytes))
        return "it stopped answering";
      ses_sleep_until(due);
      continue;
    }
    if (smed_channel_gone(sampler->channel) || !say(sampler, asked, &said_ns))
      return "it closed the connection";
    ses_sleep_until(ses_in_ms(LOOK_MS));
  }
}

static void *attend(void *argument) {
  struct sampler *sampler = argument;

  for (;;) {
    struct smed_offer offer;
    const char *why = "";

    if (greet(sampler, &offer, &why)) {
      choose_way(sampler, &offer);
      why = follow(sampler, &offer);
    }
    close_fabric(sampler);
    go_by(sampler, SMED_VIA_NOTHING, why);
    if (sampler->channel != NULL)
      smed_channel_close(sampler->channel);
    sampler->channel = NULL;
    ses_sleep_until(ses_in_ms(AGAIN_MS));
  }
  return NULL;
}

/* Whether a reading is on its way. */
static bool begin(struct sampler *sampler) {
  if (sampler->fabric == NULL || sampler->lost || !is_asked(sampler))
    return false;
  if (sampler->begun_ns == 0)
    sampler->begun_ns = ses_now_ns();
  if (!smed_fabric_begin(sampler->fabric) || ses_now_ns() - sampler->begun_ns > LOST_NS)
    sampler->lost = true;
  return !sampler->lost;
}

/* Whether nothing more is to come of what was begun. */
static bool is_over(struct sampler *sampler) {
  if (sampler->fabric == NULL || sampler->lost || sampler->begun_ns == 0)
    return true;
  int done = smed_fabric_done(sampler->fabric);
  if (done == 0)
    return false;
  sampler->begun_ns = 0;
  if (done < 0 ||
      !smed_mirrored_take(&sampler->mirrored, smed_fabric_bytes(sampler->fabric), ses_now_ns()))
    sampler->lost = true;
  else
    sampler->works = true;
  return true;
}

/* Read all windows once; what has not come after half a period is looked for in the next turn.
 * False: there was none to read. */
static bool read_windows(struct sampler *samplers, int count) {
  uint64_t started = ses_now_ns(), now = started;
  bool over = false, any = false;

  pthread_mutex_lock(&lock);
  for (int i = 0; i < count; i++)
    any = begin(&samplers[i]) || any;
  while (!over && now - started < period_ns / 2) {
    over = true;
    for (int i = 0; i < count; i++)
      over = is_over(&samplers[i]) && over;
    now = ses_now_ns();
    if (!over && now - started > SPIN_NS && (options.core < 0 || options.sleep)) {
      ses_sleep_until(now + PAUSE_NS);
      now = ses_now_ns();
    }
    ses_pause();
  }
  pthread_mutex_unlock(&lock);
  return any;
}

static bool know(struct sampler *sampler, const char *text) {
  const char *equals = strchr(text, '=');

  sampler->mirrored.period_ns = period_ns;
  sampler->via = SMED_VIA_HERE; /* so that the first way is said */
  snprintf(sampler->name, sizeof(sampler->name), "%.*s", (int)(equals - text), text);
  return smed_channel_address(PROGRAM, equals + 1, &sampler->address) &&
         snprintf(sampler->path, sizeof(sampler->path), "%s/%s", options.directory, sampler->name) <
             (int)sizeof(sampler->path);
}

static const char help[] =
    "Usage: smed-mirror --directory DIR --key-file FILE [OPTIONS] NAME=HOST:PORT...\n"
    "\n"
    "Keep copies of the tables of other nodes' smed-sampler on this node.\n"
    "\n"
    "DIR/NAME is the table of the smed-sampler that listens at HOST:PORT, its times\n"
    "moved to this node's clock; smed-monitor reads it as one of its own node. With\n"
    "--one-sided it is read from the other node's memory, where that offers it, else\n"
    "asked for over TCP. Asleep unless a reader asked within the last two seconds.\n"
    "\n"
    "Options:\n"
    "  --directory DIR     Where the tables are kept, best below /dev/shm. [required]\n"
    "  --key-file FILE     The key that the samplers have, too; mode 0600. [required]\n"
    "  --period-ms N       Time between two readings, 1 to 1000. [default: 4]\n"
    "  --one-sided         Read by libfabric where a sampler offers it: not encrypted\n"
    "  --core N            Stay on this core and poll there; the site keeps it free\n"
    "  --sleep             With --core: sleep between two readings\n"
    "  --always            Never sleep until somebody asks\n"
    "  --help              Print this and end\n"
    "  --version           Print the version and end\n"
    "\n"
    "Exit status: 0 ended by SIGTERM or SIGINT, 1 cannot run, 2 wrong usage.\n";

/* NAME=HOST:PORT, where NAME can name a file. */
static bool is_sampler(const char *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  size_t length = strspn(text, letters);

  return text[0] != '.' && text[0] != '-' && length > 0 && length <= 64 && text[length] == '=' &&
         strchr(text + length + 1, ':') != NULL;
}

/* Whether the table of TEXT is that of one before. */
static bool is_named_again(char *const *before, const char *text) {
  size_t length = strcspn(text, "=") + 1;

  for (; *before != text; before++)
    if (strncmp(*before, text, length) == 0)
      return true;
  return false;
}

/* -1: go on; else the exit code to end with at once. */
static int read_options(int argc, char **argv) {
  const struct ses_option known[] = {
      {.name = "directory", .text = &options.directory},
      {.name = "key-file", .text = &options.key_file},
      {.name = "period-ms", .number = &options.period_ms, .least = 1, .most = 1000},
      {.name = "core", .number = &options.core, .most = SES_CORE_MAX},
      {.name = "one-sided", .flag = &options.one_sided},
      {.name = "sleep", .flag = &options.sleep},
      {.name = "always", .flag = &options.always},
      {0},
  };

  int ended = ses_command_line(PROGRAM, SMED_VERSION, help, known, argc, argv);
  if (ended >= 0)
    return ended;
  if (options.directory == NULL)
    return ses_refuse(PROGRAM, "--directory DIR", "is missing");
  if (options.key_file == NULL)
    return ses_refuse(PROGRAM, "--key-file FILE", "is missing");
  if (options.sleep && options.core < 0)
    return ses_refuse(PROGRAM, "--sleep", "needs --core N");
  if (optind == argc || argc - optind > MAX_SAMPLERS)
    return ses_refuse(PROGRAM, "NAME=HOST:PORT:", "from 1 to 256 samplers are needed");
  for (int i = optind; i < argc; i++)
    if (!is_sampler(argv[i]))
      return ses_refuse(PROGRAM, argv[i], "is not NAME=HOST:PORT");
    else if (is_named_again(argv + optind, argv[i]))
      return ses_refuse(PROGRAM, argv[i], "has the NAME of another");
  return -1;
}

int main(int argc, char **argv) {
  static struct sampler samplers[MAX_SAMPLERS];
  int ended = read_options(argc, argv);

  if (ended >= 0)
    return ended;
  int count = argc - optind;
  period_ns = (uint64_t)options.period_ms * 1000000u;
  for (int i = 0; i < count; i++)
    if (!know(&samplers[i], argv[optind + i]))
      return 2;
  smed_end_by_signal();
  if (!smed_channel_key(PROGRAM, options.key_file) || !ses_stay_on_core(PROGRAM, options.core))
    return 1;
  if (options.one_sided)
    smed_fabric_prepare();
  for (int i = 0; i < count; i++)
    if (pthread_create(&samplers[i].thread, NULL, attend, &samplers[i]) != 0) {
      perror("smed-mirror: a thread");
      return 1;
    }
  for (uint64_t due = ses_now_ns(); !smed_ending;) {
    bool any = read_windows(samplers, count);
    due = smed_next_due(due, any ? period_ns : LOOK_MS * 1000000ull);
    smed_wait_until(due, any && options.core >= 0 && !options.sleep, NULL);
  }
  for (int i = 0; i < count; i++)
    close_fabric(&samplers[i]);
  return 0;
}
