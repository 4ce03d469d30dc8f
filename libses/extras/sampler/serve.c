#include "serve.h"

#include "channel.h"
#include "exchange.h"
#include "system/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GREETING_MS 2000u
#define ANSWER_MS 1000u

#define PLACES (3 * SMED_SERVE_MAX)

enum stage { FREE, UNPROVEN, PROVEN, CUT_OFF };

/* Connections: SMED_SERVE_MAX that have shown the key, as many that have not, and those of them
 * that are cut off, until their threads have gone. */
static struct place {
  enum stage stage;
  int socket; /* its channel has one of its own */
  uint64_t begun_ns;
  struct ses_tcp_address from;
} places[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the places */
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;

static struct smed_table *table;
static struct smed_offer offer;
static pthread_t reads; /* the thread that serves one-sided reads */
static volatile int reads_end;

static void awake(void) {
  atomic_store_explicit(&table->asked_ns, ses_now_ns(), memory_order_relaxed);
}

/* With the lock held, as all up to begin(). */
static int count(enum stage stage, const char *host) {
  int number = 0;

  for (struct place *place = places; place < places + PLACES; place++)
    number += place->stage == stage && (host == NULL || strcmp(place->from.host, host) == 0);
  return number;
}

static struct place *find_free(void) {
  for (struct place *place = places; place < places + PLACES; place++)
    if (place->stage == FREE)
      return place;
  return NULL;
}

/* The oldest from the host with most that have not shown the key. */
static void cut_one_off(void) {
  struct place *victim = NULL;
  int most = 0;

  for (struct place *place = places; place < places + PLACES; place++) {
    int of_host = place->stage == UNPROVEN ? count(UNPROVEN, place->from.host) : 0;
    if (of_host > most || (of_host == most && of_host > 0 && place->begun_ns < victim->begun_ns))
      victim = place, most = of_host;
  }
  shutdown(victim->socket, SHUT_RDWR); /* its thread goes */
  victim->stage = CUT_OFF;
}

/* A place for SOCKET: who has the key always gets one, whatever others do who do not. */
static struct place *begin(int socket) {
  struct place made = {UNPROVEN, socket, ses_now_ns(), {"", ""}};
  struct place *place;

  ses_tcp_of(socket, true, &made.from);
  pthread_mutex_lock(&lock);
  if (count(UNPROVEN, NULL) >= SMED_SERVE_MAX)
    cut_one_off();
  while ((place = find_free()) == NULL)
    pthread_cond_wait(&left, &lock);
  *place = made;
  pthread_mutex_unlock(&lock);
  return place;
}

/* It has shown the key.  False: as many as may be have. */
static bool prove(struct place *place) {
  pthread_mutex_lock(&lock);
  bool fits = place->stage == UNPROVEN && count(PROVEN, NULL) < SMED_SERVE_MAX;
  if (fits)
    place->stage = PROVEN;
  pthread_mutex_unlock(&lock);
  return fits;
}

static void leave(struct place *place) {
  pthread_mutex_lock(&lock);
  close(place->socket);
  place->stage = FREE;
  pthread_cond_signal(&left);
  pthread_mutex_unlock(&lock);
}

/* A connection: its place is ARGUMENT. */
static void *talk(void *argument) {
  struct place *place = argument;
  struct smed_channel *channel =
      smed_channel_accept(fcntl(place->socket, F_DUPFD_CLOEXEC, 0), ses_in_ms(GREETING_MS));
  struct smed_hello hello;
  uint64_t soon = ses_in_ms(GREETING_MS);
  struct smed_table *copy = malloc(offer.bytes);
  char said = 0;

  bool goes_on = channel != NULL && copy != NULL && prove(place) &&
                 smed_channel_receive(channel, &hello, sizeof(hello), soon) &&
                 memcmp(&hello, &offer.hello, sizeof(hello)) == 0 &&
                 smed_channel_send(channel, &offer, sizeof(offer), soon);
  if (goes_on)
    awake();
  while (goes_on && smed_channel_receive(channel, &said, 1, ses_in_ms(SMED_SILENCE_MS))) {
    if (said != SMED_SAY_NOTHING)
      awake();
    if (said == SMED_SAY_PULL) {
      memcpy(copy, table, offer.bytes); /* who pulls checks each record, as who reads one-sidedly */
      goes_on = smed_channel_send(channel, copy, offer.bytes, ses_in_ms(ANSWER_MS));
    } else {
      goes_on = said == SMED_SAY_AWAKE || said == SMED_SAY_NOTHING;
    }
  }
  free(copy);
  if (channel != NULL)
    smed_channel_close(channel);
  leave(place);
  return NULL;
}

static bool start(void *(*work)(void *), void *argument) {
  pthread_t thread;

  return pthread_create(&thread, NULL, work, argument) == 0 && pthread_detach(thread) == 0;
}

static void *take(void *argument) {
  int listening = (int)(intptr_t)argument;

  for (;;) {
    poll(&(struct pollfd){.fd = listening, .events = POLLIN}, 1, -1);
    int socket = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
      if (errno != EAGAIN && errno != EINTR)
        ses_sleep_until(ses_in_ms(100)); /* no descriptors left, perhaps */
      continue;
    }
    struct place *place = begin(socket);
    if (!start(talk, place))
      leave(place);
  }
  return NULL;
}

static void *serve_reads(void *fabric) {
  smed_fabric_serve(fabric, &reads_end);
  return NULL;
}

bool smed_serve(struct smed_table *served, uint32_t count, const char *address,
                const char *provider, bool polled, struct smed_fabric **fabric) {
  struct ses_tcp_address here;
  const char *why = NULL;
  int listening = smed_channel_listen("smed-sampler", address);

  if (listening < 0)
    return false;
  table = served;
  offer.hello = (struct smed_hello){SMED_HELLO_MAGIC, SMED_EXCHANGE_VERSION};
  offer.count = count;
  offer.bytes = (uint32_t)smed_table_bytes(count);
  if (provider != NULL) {
    smed_channel_address("smed-sampler", address, &here);
    smed_fabric_prepare();
    *fabric = smed_fabric_show(provider, here.host, table, offer.bytes, &offer.window, &why);
    if (*fabric == NULL) {
      memset(&offer.window, 0, sizeof(offer.window));
      fprintf(stderr, "smed-sampler: no one-sided reads by %s: %s; other nodes pull over TCP\n",
              provider, why);
    }
  }
  if ((*fabric != NULL && !polled && pthread_create(&reads, NULL, serve_reads, *fabric) != 0) ||
      !start(take, (void *)(intptr_t)listening)) {
    perror("smed-sampler: a thread");
    return false;
  }
  return true;
}

void smed_serve_end(struct smed_fabric *fabric, bool polled) {
  if (fabric == NULL)
    return;
  reads_end = 1;
  if (!polled)
    pthread_join(reads, NULL);
  smed_fabric_close(fabric);
}
