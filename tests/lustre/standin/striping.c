#include "striping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { V1 = 0x0bd10bd0, V3 = 0x0bd30bd0, SPECIFIC = 0x0bd50bd0, COMP = 0x0bd60bd0 };
enum { RAID0 = 1, ON_MDT = 0x100, OVERSTRIPED = 0x200, INIT = 0x10 };
#define ANY 0xffffu
#define DEFAULT_SIZE (4u << 20)
#define END UINT64_MAX

static char store[4096];
static unsigned osts;
static unsigned next_ost; /* round robin */
static uint64_t next_object = 1;

unsigned striping_open(const char *path) {
  char name[5000];
  snprintf(store, sizeof store, "%s", path);
  for (osts = 0; osts < OSTS_MAX; osts++) {
    snprintf(name, sizeof name, "%s/ost%04x", store, osts);
    if (access(name, F_OK) != 0)
      break;
  }
  snprintf(name, sizeof name, "%s/mdt", store);
  mkdir(name, 0700);
  return osts;
}

static void read_control(const char *name, char *into, size_t size) {
  char path[5000];
  snprintf(path, sizeof path, "%s/control/%s", store, name);
  into[0] = '\0';
  FILE *file = fopen(path, "r");
  if (!file)
    return;
  size_t got = fread(into, 1, size - 1, file);
  into[got] = '\0';
  fclose(file);
}

void gate(const char *name) {
  char closed[5000];
  char reached[5000];
  snprintf(closed, sizeof closed, "%s/control/%s", store, name);
  snprintf(reached, sizeof reached, "%s/control/%s-reached", store, name);
  if (access(closed, F_OK) != 0)
    return;
  int fd = open(reached, O_CREAT | O_WRONLY, 0600);
  if (fd >= 0)
    close(fd);
  while (access(closed, F_OK) == 0)
    usleep(1000);
}

/* What the administrator (the test) has done to an OST, as the error that meets who insists on it;
 * 0: nothing; -1: degraded, which only who does not insist avoids. */
static int trouble_of(unsigned ost) {
  static const struct {
    const char *word;
    int error;
  } words[] = {{"inactive", EREMOTEIO}, {"nocreate", ENOBUFS},       {"full", ENOSPC},
               {"readonly", EROFS},     {"connecting", EINPROGRESS}, {"degraded", -1}};
  char name[32];
  char text[64];
  snprintf(name, sizeof name, "ost%04x", ost);
  read_control(name, text, sizeof text);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strncmp(text, words[i].word, strlen(words[i].word)) == 0)
      return words[i].error;
  return 0;
}

/* Members of the pool; false for one that does not exist or is empty, which is as good as none. */
static bool pool_members(const char *pool, bool *member) {
  char name[64];
  char text[1024];
  bool any = false;
  snprintf(name, sizeof name, "pools/%s", pool);
  memset(member, 0, OSTS_MAX * sizeof *member);
  read_control(name, text, sizeof text);
  for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n")) {
    unsigned long ost = strtoul(word, NULL, 10);
    if (ost < osts)
      any = member[ost] = true;
  }
  return any;
}

static uint16_t get16(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }
static uint32_t get32(const uint8_t *at) { return get16(at) | (uint32_t)get16(at + 2) << 16; }
static uint64_t get64(const uint8_t *at) { return get32(at) | (uint64_t)get32(at + 4) << 32; }
static void put(uint8_t *at, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++, value >>= 8)
    at[i] = (uint8_t)value;
}

static int parse_part(struct part *part, const uint8_t *bytes, size_t size) {
  if (size < 32)
    return -ERANGE;
  part->magic = get32(bytes);
  size_t head = part->magic == V1 ? 32 : 48;
  if (part->magic != V1 && part->magic != V3 && part->magic != SPECIFIC)
    return -EINVAL;
  if (size < head)
    return -ERANGE;
  part->pattern = get32(bytes + 4) ? get32(bytes + 4) : RAID0;
  part->stripe_size = get32(bytes + 24);
  part->stripe_count = get16(bytes + 28);
  part->stripe_offset = get16(bytes + 30);
  if (part->stripe_size % 65536 || part->pattern & ~(uint32_t)(RAID0 | ON_MDT | OVERSTRIPED))
    return -EINVAL;
  if (head == 48)
    memcpy(part->pool, bytes + 32, 16);
  if (part->magic != SPECIFIC)
    return 0;
  part->requested = part->stripe_count;
  if (part->requested == 0 || part->requested > STRIPES_MAX ||
      size < 48 + 24 * (size_t)part->requested)
    return part->requested > STRIPES_MAX ? -EINVAL : -ERANGE;
  for (unsigned i = 0; i < part->requested; i++)
    part->request[i] = (uint16_t)get32(bytes + 48 + 24 * (size_t)i + 20);
  return 0;
}

int layout_parse(struct layout *layout, const void *data, size_t size) {
  const uint8_t *bytes = data;
  memset(layout, 0, sizeof *layout);
  layout->parts = layout->mirrors = 1;
  layout->part[0].end = END;
  if (size < 32)
    return -ERANGE;
  if (get32(bytes) != COMP)
    return parse_part(&layout->part[0], bytes, size);
  layout->composite = true;
  layout->flags = get16(bytes + 12);
  layout->parts = get16(bytes + 14);
  layout->mirrors = get16(bytes + 16) + 1u;
  if (get32(bytes + 4) != size || layout->parts == 0 || layout->parts > PARTS_MAX ||
      size < 32 + 48 * (size_t)layout->parts)
    return -EINVAL;
  for (unsigned i = 0; i < layout->parts; i++) {
    const uint8_t *entry = bytes + 32 + 48 * (size_t)i;
    struct part *part = &layout->part[i];
    size_t offset = get32(entry + 24);
    size_t length = get32(entry + 28);
    if (offset > size || length > size - offset)
      return -EINVAL;
    part->id = get32(entry) ? get32(entry) : i + 1;
    part->flags = get32(entry + 4) & ~(uint32_t)INIT;
    part->start = get64(entry + 8);
    part->end = get64(entry + 16);
    part->gen = get32(entry + 32);
    part->stamp = get64(entry + 36);
    int failed = parse_part(part, bytes + offset, length);
    if (failed)
      return failed;
  }
  return 0;
}

static size_t part_size(const struct part *part) {
  bool shows_request = part->magic == SPECIFIC && part->objects == 0;
  size_t head = part->pool[0] || shows_request || (part->magic == V3 && !part->objects) ? 48 : 32;
  return head + 24 * (size_t)(shows_request ? part->requested : part->objects);
}

static void encode_part(const struct part *part, uint8_t *into) {
  bool shows_request = part->magic == SPECIFIC && part->objects == 0;
  size_t size = part_size(part);
  size_t head = size - 24 * (size_t)(shows_request ? part->requested : part->objects);
  memset(into, 0, size);
  put(into, shows_request ? SPECIFIC : head == 48 ? V3 : V1, 4);
  put(into + 4, part->pattern, 4);
  put(into + 24, part->stripe_size, 4);
  put(into + 28, part->objects ? part->objects : part->stripe_count, 2);
  put(into + 30, part->objects ? ANY : part->stripe_offset, 2);
  if (head == 48)
    memcpy(into + 32, part->pool, 16);
  for (unsigned i = 0; i < (shows_request ? part->requested : part->objects); i++) {
    put(into + head + 24 * i, shows_request ? 0 : part->object[i].id, 8);
    put(into + head + 24 * i + 20, shows_request ? part->request[i] : (uint64_t)part->object[i].ost,
        4);
  }
}

ssize_t layout_encode(const struct layout *layout, void *data, size_t room) {
  uint8_t *into = data;
  size_t size = layout->composite ? 32 + 48 * (size_t)layout->parts : 0;
  size_t at = size;
  for (unsigned i = 0; i < layout->parts; i++)
    size += part_size(&layout->part[i]);
  if (size > room)
    return room ? -ERANGE : (ssize_t)size;
  if (!layout->composite) {
    encode_part(&layout->part[0], into);
    return (ssize_t)size;
  }
  memset(into, 0, at);
  put(into, COMP, 4);
  put(into + 4, size, 4);
  put(into + 12, layout->flags, 2);
  put(into + 14, layout->parts, 2);
  put(into + 16, layout->mirrors - 1, 2);
  for (unsigned i = 0; i < layout->parts; i++) {
    const struct part *part = &layout->part[i];
    uint8_t *entry = into + 32 + 48 * (size_t)i;
    put(entry, part->id, 4);
    put(entry + 4, part->flags | (part->objects ? INIT : 0), 4);
    put(entry + 8, part->start, 8);
    put(entry + 16, part->end, 8);
    put(entry + 24, at, 4);
    put(entry + 28, part_size(part), 4);
    put(entry + 32, part->gen, 4);
    put(entry + 36, part->stamp, 8);
    encode_part(part, into + at);
    at += part_size(part);
  }
  return (ssize_t)size;
}

bool layout_is_all_default(const struct layout *layout) {
  const struct part *part = &layout->part[0];
  return !layout->composite && part->stripe_count == 0 && part->stripe_size == 0 &&
         part->stripe_offset == ANY && !part->pool[0] && !part->requested;
}

void layout_complete(struct layout *layout, const struct layout *root) {
  struct part *part = &layout->part[0];
  const struct part *of_root = &root->part[0];
  if (layout->composite || root->composite)
    return;
  if (part->stripe_count == 0)
    part->stripe_count = of_root->stripe_count;
  if (part->stripe_size == 0)
    part->stripe_size = of_root->stripe_size;
  if (part->pool[0])
    return;
  if (part->stripe_offset == ANY)
    part->stripe_offset = of_root->stripe_offset;
  memcpy(part->pool, of_root->pool, sizeof part->pool);
}

void layout_default(struct layout *layout) {
  memset(layout, 0, sizeof *layout);
  layout->parts = layout->mirrors = 1;
  layout->part[0] = (struct part){.end = END,
                                  .magic = V1,
                                  .pattern = RAID0,
                                  .stripe_size = DEFAULT_SIZE,
                                  .stripe_count = 1,
                                  .stripe_offset = ANY};
}

static void object_path(const struct object *object, char *into, size_t size) {
  if (object->ost == MDT)
    snprintf(into, size, "%s/mdt/%016lx", store, (unsigned long)object->id);
  else
    snprintf(into, size, "%s/ost%04x/%016lx", store, (unsigned)object->ost,
             (unsigned long)object->id);
}

static void add_object(struct part *part, int ost) {
  char path[5000];
  struct object *object = &part->object[part->objects++];
  *object = (struct object){ost, next_object++};
  object_path(object, path, sizeof path);
  int fd = open(path, O_CREAT | O_WRONLY, 0600);
  if (fd >= 0)
    close(fd);
}

/* -o: these, in this order, or the first error. */
static int allocate_list(struct part *part, const bool *member, bool pooled) {
  for (unsigned i = 0; i < part->requested; i++) {
    if (part->request[i] >= osts || (pooled && !member[part->request[i]]))
      return -EINVAL;
    for (unsigned j = 0; j < i; j++)
      if (part->request[i] == part->request[j] && !(part->pattern & OVERSTRIPED))
        return -EINVAL;
  }
  for (unsigned i = 0; i < part->requested; i++)
    if (trouble_of(part->request[i]) > 0)
      return -trouble_of(part->request[i]);
  for (unsigned i = 0; i < part->requested; i++)
    add_object(part, part->request[i]);
  return 0;
}

/* Round robin over what can be used, from the requested offset if that can. */
static int allocate_any(struct part *part, const bool *member, bool pooled) {
  unsigned wanted = part->stripe_count == 0 ? 1 : part->stripe_count;
  unsigned start = part->stripe_offset;
  if (start != ANY && (start >= osts || (pooled && !member[start])))
    return -EINVAL;
  bool repeats = part->pattern & OVERSTRIPED;
  unsigned most = repeats ? STRIPES_MAX : osts;
  if (wanted > most)
    wanted = most;
  if (start == ANY)
    start = next_ost++ % osts;
  for (int pass = 0; pass < 2; pass++)
    for (unsigned i = 0; i < osts && part->objects < wanted; i++) {
      unsigned ost = (start + i) % osts;
      int trouble = trouble_of(ost);
      if ((!pooled || member[ost]) && (pass == 0 ? trouble == 0 : trouble < 0))
        add_object(part, (int)ost);
    }
  for (unsigned i = 0, different = part->objects; repeats && different && part->objects < wanted;
       i++)
    add_object(part, part->object[i % different].ost);
  return part->objects ? 0 : -ENOSPC;
}

static int allocate_part(struct part *part) {
  bool member[OSTS_MAX];
  bool pooled = part->pool[0] && pool_members(part->pool, member);
  if (part->stripe_size == 0)
    part->stripe_size = DEFAULT_SIZE;
  if (part->pattern & ON_MDT) {
    add_object(part, MDT);
    return 0;
  }
  return part->requested ? allocate_list(part, member, pooled) : allocate_any(part, member, pooled);
}

int layout_allocate(struct layout *layout) {
  for (unsigned i = 0; i < layout->parts; i++) {
    if (layout->part[i].start != 0)
      continue;
    int failed = allocate_part(&layout->part[i]);
    if (failed) {
      layout_destroy(layout);
      return failed;
    }
  }
  return 0;
}

void layout_destroy(struct layout *layout) {
  char path[5000];
  for (unsigned i = 0; i < layout->parts; i++) {
    for (unsigned j = 0; j < layout->part[i].objects; j++) {
      object_path(&layout->part[i].object[j], path, sizeof path);
      unlink(path);
    }
    layout->part[i].objects = 0;
  }
}

/* RAID0 of one part: which object holds byte OFFSET, where in it, and how much follows there. */
static ssize_t move(struct layout *layout, void *bytes, size_t size, uint64_t offset, bool writes) {
  struct part *part = NULL;
  for (unsigned i = 0; i < layout->parts && !part; i++)
    if (offset >= layout->part[i].start && offset < layout->part[i].end)
      part = &layout->part[i];
  if (!part)
    return -ENODATA;
  if (part->objects == 0) {
    if (!writes) {
      memset(bytes, 0, size);
      return (ssize_t)size;
    }
    int failed = allocate_part(part);
    if (failed)
      return failed;
  }
  uint64_t stripe = offset / part->stripe_size;
  uint64_t within = offset % part->stripe_size;
  char path[5000];
  object_path(&part->object[stripe % part->objects], path, sizeof path);
  if (size > part->stripe_size - within)
    size = part->stripe_size - within;
  if (size > part->end - offset)
    size = part->end - offset;
  off_t at = (off_t)(stripe / part->objects * part->stripe_size + within);
  int fd = open(path, writes ? O_WRONLY : O_RDONLY);
  if (fd < 0)
    return -errno;
  ssize_t moved = writes ? pwrite(fd, bytes, size, at) : pread(fd, bytes, size, at);
  if (moved < 0)
    moved = -errno;
  else if (!writes) { /* what was never written reads as zeros */
    memset((char *)bytes + moved, 0, size - (size_t)moved);
    moved = (ssize_t)size;
  }
  close(fd);
  return moved;
}

ssize_t layout_write(struct layout *layout, const void *bytes, size_t size, uint64_t offset) {
  return move(layout, (void *)(uintptr_t)bytes, size, offset, true);
}

ssize_t layout_read(struct layout *layout, void *bytes, size_t size, uint64_t offset) {
  return move(layout, bytes, size, offset, false);
}
