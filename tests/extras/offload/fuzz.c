/* Says what becomes of damaged messages: requests in the storage part, replies in its client.
 * Linked with the library's own sources, so that the sanitizers see all of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "item.h"
#include "message.h"

enum { TURNS = 40000 };

static struct item global;
static char *text;
static unsigned ran, mistaken;

static char *copy_of(const char *from) {
  char *copy = malloc(strlen(from) + 1);
  return strcpy(copy, from);
}

static int turn(const void *in, void *out) {
  const struct item *given = in;
  struct item *back = out;
  size_t size = given->count * sizeof *given->values;
  ran++;
  free(text);
  text = copy_of(given->name ? given->name : "none");
  back->name = copy_of(text);
  back->count = given->count;
  back->values = malloc(size + 1);
  if (size > 0)
    memcpy(back->values, given->values, size);
  back->function = given->function;
  return given->next && given->next->fixed[0] > 1000 ? given->next->fixed[0] : 0;
}

static unsigned random_number(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (unsigned)(state >> 16);
}

/* A damaged copy, in memory of exactly its size. */
static char *damaged(const msgpack_sbuffer *whole, size_t *size) {
  static const unsigned char marks[] = {0xc4, 0xc5, 0xc6, 0xcf, 0xd3, 0xdb, 0xdd, 0xff, 0x7f, 0x00};
  size_t kept = random_number() % 4 ? whole->size : random_number() % (whole->size + 1);
  size_t more = random_number() % 4 ? 0 : random_number() % 8;
  char *copy = malloc(kept + more + 1);
  memcpy(copy, whole->data, kept);
  for (size_t i = 0; i < more; i++)
    copy[kept + i] = (char)random_number();
  *size = kept + more;
  for (unsigned i = random_number() % 4; *size > 0 && i > 0; i--)
    copy[random_number() % *size] =
        (char)(random_number() % 2 ? random_number() : marks[random_number() % sizeof marks]);
  return copy;
}

/* The damaged request is answered by a message that can be read. */
static bool answers(const char *bytes, size_t size, ses_offload_writer *reply) {
  ses_offload_reader from;
  struct offload_reply read;
  offload_perform(bytes, size, reply);
  offload_reader_begin(&from, reply->bytes.data, reply->bytes.size);
  offload_read_reply(&from, &read);
  return from.status == SES_OFFLOAD_OK;
}

/* What the client does with a reply. */
static bool is_taken(const char *bytes, size_t size) {
  ses_offload_reader from;
  struct offload_reply read;
  struct item out;
  memset(&out, 0, sizeof out);
  offload_reader_begin(&from, bytes, size);
  offload_read_reply(&from, &read);
  if (from.status == SES_OFFLOAD_OK && read.report.status >= SES_OFFLOAD_LOST &&
      read.report.status != SES_OFFLOAD_FAILED && read.report.status != SES_OFFLOAD_CANCELLED)
    mistaken++; /* only the client finds that; it would wait for a call that has "not ended yet" */
  if (from.status != SES_OFFLOAD_OK || !offload_read_globals(&from))
    return false;
  offload_read(&item_type, &out, &from);
  if (from.status == SES_OFFLOAD_OK)
    ses_offload_release(&item_type, &out);
  return from.status == SES_OFFLOAD_OK;
}

int main(void) {
  double values[] = {1, 2, 3};
  struct item second = {NULL, values, 2, {1, 2, 3}, NULL, turn};
  struct item first = {(char[]){"first"}, values, 3, {4, 5, 6}, &second, NULL};
  unsigned answered = 0, taken = 0, refused = 0;
  SES_OFFLOAD_FUNCTION(turn, &item_type, &item_type);
  SES_OFFLOAD_GLOBAL(global, &item_type);
  SES_OFFLOAD_GLOBAL(text, &ses_type_string);
  text = copy_of("before");
  global.name = copy_of("a global");
  for (int i = 0; i < TURNS; i++) {
    ses_offload_writer request, reply;
    size_t size;
    offload_writer_begin(&request);
    offload_writer_begin(&reply);
    offload_write_call(&request, (uint64_t)i, "turn", &first, false);
    char *bytes = damaged(&request.bytes, &size);
    answered += answers(bytes, size, &reply);
    free(bytes);
    bytes = damaged(&reply.bytes, &size);
    if (is_taken(bytes, size))
      taken++;
    else
      refused++;
    free(bytes);
    offload_writer_free(&request);
    offload_writer_free(&reply);
  }
  printf("answered=%d\n", answered == TURNS);
  printf("ran=%d\n", ran > 0 && ran < TURNS);
  printf("taken=%d\n", taken > 0 && refused > 0 && mistaken == 0);
  free(text);
  ses_offload_release(&item_type, &global);
  return 0;
}
