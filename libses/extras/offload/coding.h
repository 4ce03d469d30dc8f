/*
 * Writer and reader of messages: a flat sequence of MessagePack atoms (numbers, byte strings).
 * Lists and maps of MessagePack are not used, and refused, so that a message cannot make the reader
 * allocate more than it carries.
 */
#ifndef SES_OFFLOAD_CODING_H
#define SES_OFFLOAD_CODING_H

#include <msgpack.h>

#include "ses/offload.h"

struct ses_offload_writer {
  msgpack_sbuffer bytes;
  int status;
  unsigned depth; /* of pointers that are being followed */
};

struct ses_offload_reader {
  const char *bytes;
  size_t size, done;
  int status;
  unsigned depth;
};

void offload_writer_begin(ses_offload_writer *writer);
void offload_writer_free(ses_offload_writer *writer);
void offload_reader_begin(ses_offload_reader *reader, const void *bytes, size_t size);
/* A copy of what was not read, SIZE bytes, to be freed; NULL: no memory. */
char *offload_reader_rest(const ses_offload_reader *reader, size_t *size);

/* NULL is written as a name that reads as "". */
void offload_write_text(ses_offload_writer *to, const char *text);
/* Copies a text of at most ROOM - 1 bytes without NUL; fails if it is longer. */
void offload_read_text(ses_offload_reader *from, char *text, size_t room);

/* Appends what another writer has written. */
void offload_write_message(ses_offload_writer *to, const ses_offload_writer *part);

/* Keep the first failure. */
void offload_writer_fails(ses_offload_writer *writer, int status);
void offload_reader_fails(ses_offload_reader *reader, int status);

/* Writes an object of TYPE; NULL writes nothing. */
void offload_write(const ses_offload_type *type, const void *object, ses_offload_writer *to);
/* Reads it into zeroed memory; what was read before a failure is released. */
void offload_read(const ses_offload_type *type, void *object, ses_offload_reader *from);

#endif /* SES_OFFLOAD_CODING_H */
