/*
 * Lustre layouts as the extended attribute "lustre.lov" holds them: reading
 * them, and putting a choice of place into one.
 *
 * Pure: no system call, heap, lock or state, and of the C library only memcpy,
 * memmove and memset.  The bytes come from a network file system and are not
 * believed: every field is checked against the size before it is used, and
 * whatever does not add up is refused as a whole.
 *
 * Knows V1, V3 and SPECIFIC (plain layouts) and COMP_V1 (components: PFL, DoM,
 * FLR, SEL).  Does NOT know the byte order of another machine, layouts on disk
 * (bit LOV_MAGIC_DEFINED) or FOREIGN ones, except as a component to be left
 * alone.  Byte positions: lustre_user.h of Lustre 2.7 to 2.17.
 */
#ifndef SES_LUSTRE_LAYOUT_H
#define SES_LUSTRE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SES_LOV_V1 0x0bd10bd0u
#define SES_LOV_V3 0x0bd30bd0u
#define SES_LOV_SPECIFIC 0x0bd50bd0u
#define SES_LOV_COMP 0x0bd60bd0u
#define SES_LOV_FOREIGN 0x0bd70bd0u

#define SES_LOV_POOL_SIZE 16 /* bytes of a pool's name; a NUL follows unless all 16 are used */
#define SES_LOV_OSTS_MAX 14  /* OSTs in one choice */
#define SES_LOV_ANY_OST 0xffffu
#define SES_LOV_ALL_OSTS 0xffffu /* as a stripe count */
#define SES_LOV_EOF UINT64_MAX

#define SES_LOV_PATTERN_RAID0 0x1u
#define SES_LOV_PATTERN_MDT 0x100u /* data on the metadata target (DoM) */
#define SES_LOV_PATTERN_OVERSTRIPING 0x200u

#define SES_LOV_COMPONENT_INIT 0x10u /* has its objects */
#define SES_LOV_COMPONENT_EXTENSION                                                                \
  0x40u /* room into which the component before it grows (SEL)                                     \
         */

/* A layout that has been checked.  Points into the bytes it was read from. */
struct ses_lov {
  const unsigned char *bytes;
  size_t size; /* of the layout itself: what follows it is ignored */
  uint32_t magic;
  unsigned components; /* 1 for a plain layout */
  unsigned mirrors;    /* at least 1 */
};

/* One component; a plain layout is its own only one. */
struct ses_lov_component {
  uint32_t id;
  uint32_t flags;
  uint64_t start; /* bytes of the file, [start, end) */
  uint64_t end;
  uint32_t magic;
  uint32_t pattern;     /* 0: the default (RAID0) */
  uint32_t stripe_size; /* bytes; 0: the default */
  unsigned stripe_count;
  unsigned stripe_offset; /* index of the first OST, SES_LOV_ANY_OST */
  unsigned objects;       /* objects (or, in SPECIFIC, OSTs requested) that are listed */
  uint32_t at;            /* where in the layout the component's own part is */
  uint32_t length;
  const unsigned char *object; /* the first listed one */
  char pool[SES_LOV_POOL_SIZE + 1];
};

/* How a choice is written down; see docs/lustre.md. */
enum ses_lov_form {
  SES_LOV_POOL = 1,   /* the file system picks OSTs in the pool */
  SES_LOV_LIST = 2,   /* exactly these OSTs, or the file system refuses */
  SES_LOV_OFFSET = 3, /* the first OST is a hint, the rest follow it */
};

/* What editing needs to remember, kept by the caller: its own stack may be short. */
struct ses_lov_work {
  struct ses_lov lov;
  struct ses_lov_component component;
};

struct ses_lov_choice {
  enum ses_lov_form form;
  const char *pool; /* with SES_LOV_POOL: 1 to 15 bytes and a NUL */
  const uint16_t *osts;
  unsigned ost_count;    /* with LIST and OFFSET: 1 to SES_LOV_OSTS_MAX, none twice */
  unsigned stripe_count; /* 0: as inherited; with LIST always the number of OSTs or less */
  uint32_t stripe_size;  /* bytes, a multiple of 64 KiB; 0: as inherited */
};

/* Check SIZE bytes and describe them.  0, or -EINVAL: not a layout this file knows. */
int ses_lov_read(struct ses_lov *lov, const void *bytes, size_t size);

/* Component NUMBER (from 0).  False when there is none. */
bool ses_lov_component(const struct ses_lov *lov, unsigned number,
                       struct ses_lov_component *component);

/* The OST of listed object NUMBER (from 0, below component->objects). */
uint32_t ses_lov_ost(const struct ses_lov_component *component, unsigned number);

/* How many OSTs a file of the layout BYTES begins with: the stripe count of the first component of
 * the first mirror that ses_lov_edit() may change; SES_LOV_ALL_OSTS where that has more objects
 * than OSTs (overstriping); 0: it does not say.  WORK need not be initialised. */
unsigned ses_lov_width(const void *bytes, size_t size, struct ses_lov_work *work);

/* Is it one of plain stripes on OSTs: not on the metadata target, no extension, nothing unknown? */
bool ses_lov_holds_data_on_osts(const struct ses_lov_component *component);

/* What a directory's default leaves open for the root's; only a plain one does. */
enum ses_lov_open {
  SES_LOV_WHOLE = 0,   /* nothing; or it is no layout known here */
  SES_LOV_NO_POOL = 1, /* the pool, and with it the first OST: no matter where a choice is put in */
  SES_LOV_NO_STRIPES = 2, /* the stripe count or size */
};

enum ses_lov_open ses_lov_leaves_open(const void *bytes, size_t size, struct ses_lov_work *work);

/*
 * Put into the plain default of SIZE bytes at INTO what it leaves open and the ROOT's (of ROOT_SIZE
 * bytes) states, as Lustre does (lod_ah_init() of 2.17.0): stripe count and size, and with no pool
 * of its own the pool and the first OST.  A ROOT with components states nothing.  INTO has room for
 * SES_LOV_POOL_SIZE bytes more.  Returns the size.
 */
size_t ses_lov_complete(void *into, size_t size, const void *root, size_t root_size,
                        struct ses_lov_work *work);

/*
 * The layout a file shall get: INHERITED (what its directory gives new files;
 * size 0: nothing) with CHOICE put into it.  Of a plain layout pattern and
 * whatever the choice leaves open is kept.  Of one with components these are
 * changed, and every other byte stays (but for offsets behind a part that
 * grew):
 *   the first component of the first mirror that holds data on OSTs, and
 *   those after it in that mirror that name no pool and are no wider than the
 *   choice, which keep their stripe count and size;
 * never a component on the metadata target, an extension, a foreign one, one
 * that has objects, or a second mirror.
 *
 * Returns the size, at most ROOM, or
 *   -EINVAL      INHERITED is not a layout, or CHOICE not a choice
 *   -EOPNOTSUPP  it has no component that may be changed, or one of several mirrors that would take
 *                over the pool of another one
 *   -ERANGE      ROOM is too small
 * INTO must not overlap INHERITED.  WORK need not be initialised.
 */
long ses_lov_edit(const void *inherited, size_t size, const struct ses_lov_choice *choice,
                  void *into, size_t room, struct ses_lov_work *work);

#ifdef __cplusplus
}
#endif

#endif /* SES_LUSTRE_LAYOUT_H */
