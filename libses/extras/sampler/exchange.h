/*
 * What smed-mirror and smed-sampler say to each other over a channel (channel.h).  Integers are in
 * host byte order; the greeting tells machines of another one apart.
 *
 *     mirror -> sampler   struct smed_hello
 *     sampler -> mirror   struct smed_offer
 *     mirror -> sampler   one byte, again and again:
 *                           SMED_SAY_PULL    the sampler answers with the table, offer.bytes long
 *                           SMED_SAY_AWAKE   no answer; it samples for two seconds more
 *                           SMED_SAY_NOTHING no answer: the mirror is there, and nobody asks it
 *
 * A mirror that reads by the window of the offer says SMED_SAY_AWAKE twice a second and pulls
 * nothing.  The sampler closes a channel that said nothing for SMED_SILENCE_MS.
 */
#ifndef SMED_EXCHANGE_H
#define SMED_EXCHANGE_H

#include "fabric.h"
#include "table.h"

#define SMED_HELLO_MAGIC 0x4f4c4c48u
#define SMED_EXCHANGE_VERSION 2u
#define SMED_SAY_PULL 'P'
#define SMED_SAY_AWAKE 'A'
#define SMED_SAY_NOTHING 'N'
#define SMED_SILENCE_MS 10000u

struct smed_hello {
  uint32_t magic;
  uint32_t version;
};

struct smed_offer {
  struct smed_hello hello;
  uint32_t count; /* records of the table */
  uint32_t bytes; /* of the table */
  struct smed_window window;
};

#endif
