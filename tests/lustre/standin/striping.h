/*
 * What the metadata server of a Lustre does with layouts, for the stand-in:
 * reads the ones it is given, chooses OSTs by the rules and with the errors
 * that a 2.17.0 was measured to have, and says where each byte of a file is.
 *
 * Shares no code with libses, so that the two can disagree.
 */
#ifndef STANDIN_STRIPING_H
#define STANDIN_STRIPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OSTS_MAX 64
#define STRIPES_MAX 128
#define PARTS_MAX 16
#define MDT (-1) /* as an OST: data on the metadata server */

struct object {
  int ost;
  uint64_t id;
};

struct part { /* a component; a plain layout is its only one */
  uint32_t id;
  uint32_t flags;
  uint64_t start;
  uint64_t end;
  uint32_t gen;
  uint64_t stamp;
  uint32_t magic; /* as given; objects are shown under V1 or V3 */
  uint32_t pattern;
  uint32_t stripe_size;
  unsigned stripe_count;
  unsigned stripe_offset;
  char pool[17];
  unsigned requested; /* OSTs of SPECIFIC */
  uint16_t request[STRIPES_MAX];
  unsigned objects;
  struct object object[STRIPES_MAX];
};

struct layout {
  bool composite;
  uint16_t flags;
  unsigned mirrors;
  unsigned parts;
  struct part part[PARTS_MAX];
};

/* STORE is the directory of the OSTs (ost0000 ...) and of control/.  Returns how many OSTs it has.
 */
unsigned striping_open(const char *store);

/* 0 or -errno, as the server judges a layout that comes in as an attribute. */
int layout_parse(struct layout *layout, const void *bytes, size_t size);
/* The attribute's bytes; the size, or -ERANGE. */
ssize_t layout_encode(const struct layout *layout, void *into, size_t room);
/* Nothing but defaults: on a directory it means "no layout of its own". */
bool layout_is_all_default(const struct layout *layout);
/* What LAYOUT, a directory's plain default, leaves open is taken from that of the root, as
 * lod_ah_init() does; LAYOUT without a part of its own becomes the root's. */
void layout_complete(struct layout *layout, const struct layout *root);
/* One stripe of 4 MiB anywhere. */
void layout_default(struct layout *layout);

/* Make the objects of every part that starts at 0: 0 or -errno, and then there are none. */
int layout_allocate(struct layout *layout);
void layout_destroy(struct layout *layout);

/* Move up to SIZE bytes at OFFSET, at most to the end of one stripe.  Bytes moved, or -errno. */
ssize_t layout_write(struct layout *layout, const void *bytes, size_t size, uint64_t offset);
ssize_t layout_read(struct layout *layout, void *bytes, size_t size, uint64_t offset);

/* If the file control/NAME exists: say so in control/NAME-reached, and wait until it is gone. */
void gate(const char *name);

#endif
