#include "serve.h"

#include "channel.h"
#include "exchange.h"
#include "system/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GREETING_MS 2000u
#define ANSWER_MS 1000u

static struct smed_table *table;
static struct smed_offer offer;
static _Atomic int connections;
static pthread_t reads; /* the thread that serves one-sided reads */
static volatile int reads_end;

static void awake(void) {
  atomic_store_explicit(&table->asked_ns, ses_now_ns(), memory_order_relaxed);
}

/* A connection: its socket is ARGUMENT. */
static void *talk(void *argument) {
  struct smed_channel *channel =
      smed_channel_accept((int)(intptr_t)argument, ses_in_ms(GREETING_MS));
  struct smed_hello hello;
  uint64_t soon = ses_in_ms(GREETING_MS);
  struct smed_table *copy = malloc(offer.bytes);
  char said = 0;

  bool goes_on = channel != NULL && copy != NULL &&
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
  atomic_fetch_sub(&connections, 1);
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
    if (atomic_fetch_add(&connections, 1) >= SMED_SERVE_MOST ||
        !start(talk, (void *)(intptr_t)socket)) {
      atomic_fetch_sub(&connections, 1);
      close(socket);
    }
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
