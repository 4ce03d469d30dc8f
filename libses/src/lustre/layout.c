#include "lustre/layout.h"

#include <errno.h>
#include <string.h>

/* Plain layouts: byte positions. */
enum {
  AT_MAGIC = 0,
  AT_PATTERN = 4,
  AT_STRIPE_SIZE = 24,
  AT_STRIPE_COUNT = 28,
  AT_STRIPE_OFFSET = 30,
  V1_SIZE = 32,
  AT_POOL = 32,
  V3_SIZE = 48,
  OBJECT_SIZE = 24,
  AT_OBJECT_OST = 20,
};

/* Layouts with components: the head, and its entries. */
enum {
  AT_COMP_SIZE = 4,
  AT_COMP_ENTRIES = 14,
  AT_COMP_MIRRORS = 16, /* one less than there are */
  COMP_SIZE = 32,
  AT_ENTRY_ID = 0,
  AT_ENTRY_FLAGS = 4,
  AT_ENTRY_START = 8,
  AT_ENTRY_END = 16,
  AT_ENTRY_OFFSET = 24,
  AT_ENTRY_SIZE = 28,
  ENTRY_SIZE = 48,
};

#define STRIPE_SIZE_STEP 65536u
#define STRIPES_MAX 2000u

static uint16_t get16(const unsigned char *at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint32_t get32(const unsigned char *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint64_t get64(const unsigned char *at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static void put16(unsigned char *at, unsigned value) {
  uint16_t narrow = (uint16_t)value;
  memcpy(at, &narrow, sizeof narrow);
}

static void put32(unsigned char *at, uint32_t value) { memcpy(at, &value, sizeof value); }

static size_t head_size(uint32_t magic) { return magic == SES_LOV_V1 ? V1_SIZE : V3_SIZE; }

static bool is_plain(uint32_t magic) {
  return magic == SES_LOV_V1 || magic == SES_LOV_V3 || magic == SES_LOV_SPECIFIC;
}

/* A plain layout, with as many of its objects as are there. */
static bool is_whole_plain(const unsigned char *bytes, size_t size) {
  return size >= V1_SIZE && is_plain(get32(bytes)) && size >= head_size(get32(bytes));
}

static const unsigned char *entry_of(const unsigned char *bytes, unsigned number) {
  return bytes + COMP_SIZE + (size_t)number * ENTRY_SIZE;
}

/* Entry NUMBER describes a part that lies within the layout, behind the entries. */
static bool is_whole_entry(const unsigned char *bytes, size_t size, unsigned entries,
                           unsigned number) {
  const unsigned char *entry = entry_of(bytes, number);
  size_t offset = get32(entry + AT_ENTRY_OFFSET);
  size_t length = get32(entry + AT_ENTRY_SIZE);
  if (offset < COMP_SIZE + (size_t)entries * ENTRY_SIZE || offset > size || length > size - offset)
    return false;
  if (length >= sizeof(uint32_t) && get32(bytes + offset) == SES_LOV_FOREIGN)
    return true; /* never looked into */
  return is_whole_plain(bytes + offset, length);
}

static int read_composite(struct ses_lov *lov) {
  const unsigned char *bytes = lov->bytes;
  if (lov->size < COMP_SIZE)
    return -EINVAL;
  size_t size = get32(bytes + AT_COMP_SIZE);
  unsigned entries = get16(bytes + AT_COMP_ENTRIES);
  if (size > lov->size || entries == 0 || size < COMP_SIZE + (size_t)entries * ENTRY_SIZE)
    return -EINVAL;
  for (unsigned i = 0; i < entries; i++)
    if (!is_whole_entry(bytes, size, entries, i))
      return -EINVAL;
  lov->size = size;
  lov->components = entries;
  lov->mirrors = get16(bytes + AT_COMP_MIRRORS) + 1u;
  return 0;
}

int ses_lov_read(struct ses_lov *lov, const void *bytes, size_t size) {
  if (size < sizeof(uint32_t) || size > UINT32_MAX)
    return -EINVAL;
  *lov = (struct ses_lov){
      .bytes = bytes, .size = size, .magic = get32(bytes), .components = 1, .mirrors = 1};
  if (lov->magic == SES_LOV_COMP)
    return read_composite(lov);
  return is_whole_plain(bytes, size) ? 0 : -EINVAL;
}

static void read_plain(const struct ses_lov *lov, struct ses_lov_component *component) {
  const unsigned char *part = lov->bytes + component->at;
  component->magic = get32(part + AT_MAGIC);
  if (!is_plain(component->magic))
    return;
  size_t head = head_size(component->magic);
  component->pattern = get32(part + AT_PATTERN);
  component->stripe_size = get32(part + AT_STRIPE_SIZE);
  component->stripe_count = get16(part + AT_STRIPE_COUNT);
  component->stripe_offset = get16(part + AT_STRIPE_OFFSET);
  component->object = part + head;
  size_t listed = (component->length - head) / OBJECT_SIZE;
  bool countable = component->stripe_count <= STRIPES_MAX;
  if (countable)
    component->objects =
        listed < component->stripe_count ? (unsigned)listed : component->stripe_count;
  if (component->magic != SES_LOV_V1)
    memcpy(component->pool, part + AT_POOL, SES_LOV_POOL_SIZE);
}

bool ses_lov_component(const struct ses_lov *lov, unsigned number,
                       struct ses_lov_component *component) {
  if (number >= lov->components)
    return false;
  *component = (struct ses_lov_component){.end = SES_LOV_EOF, .length = (uint32_t)lov->size};
  if (lov->magic == SES_LOV_COMP) {
    const unsigned char *entry = entry_of(lov->bytes, number);
    component->id = get32(entry + AT_ENTRY_ID);
    component->flags = get32(entry + AT_ENTRY_FLAGS);
    component->start = get64(entry + AT_ENTRY_START);
    component->end = get64(entry + AT_ENTRY_END);
    component->at = get32(entry + AT_ENTRY_OFFSET);
    component->length = get32(entry + AT_ENTRY_SIZE);
  }
  read_plain(lov, component);
  return true;
}

uint32_t ses_lov_ost(const struct ses_lov_component *component, unsigned number) {
  return get32(component->object + (size_t)number * OBJECT_SIZE + AT_OBJECT_OST);
}

static bool is_pool_name(const char *pool) {
  size_t length = 0;
  while (length < SES_LOV_POOL_SIZE && pool[length])
    length++;
  return length > 0 && length < SES_LOV_POOL_SIZE;
}

static bool are_distinct(const uint16_t *osts, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    if (osts[i] == SES_LOV_ANY_OST)
      return false;
    for (unsigned j = 0; j < i; j++)
      if (osts[i] == osts[j])
        return false;
  }
  return true;
}

static bool is_choice(const struct ses_lov_choice *choice) {
  if (choice->stripe_size % STRIPE_SIZE_STEP ||
      (choice->stripe_count > STRIPES_MAX && choice->stripe_count != SES_LOV_ALL_OSTS))
    return false;
  if (choice->form == SES_LOV_POOL)
    return choice->pool && is_pool_name(choice->pool);
  return (choice->form == SES_LOV_LIST || choice->form == SES_LOV_OFFSET) && choice->osts &&
         choice->ost_count > 0 && choice->ost_count <= SES_LOV_OSTS_MAX &&
         are_distinct(choice->osts, choice->ost_count);
}

/* What CHOICE makes of one part. */
struct change {
  const struct ses_lov_choice *choice;
  unsigned stripe_count; /* 0: as it was */
  unsigned listed;       /* of the chosen OSTs, with LIST and OFFSET */
};

enum ses_lov_open ses_lov_leaves_open(const void *bytes, size_t size, struct ses_lov_work *work) {
  struct ses_lov_component *own = &work->component;
  if (ses_lov_read(&work->lov, bytes, size) != 0 || work->lov.magic == SES_LOV_COMP)
    return SES_LOV_WHOLE;
  ses_lov_component(&work->lov, 0, own);
  if (own->stripe_count == 0 || own->stripe_size == 0)
    return SES_LOV_NO_STRIPES;
  return own->magic == SES_LOV_SPECIFIC || own->pool[0] ? SES_LOV_WHOLE : SES_LOV_NO_POOL;
}

size_t ses_lov_complete(void *bytes, size_t size, const void *root, size_t root_size,
                        struct ses_lov_work *work) {
  unsigned char *into = bytes;
  struct ses_lov_component *given = &work->component;
  if (ses_lov_leaves_open(into, size, work) == SES_LOV_WHOLE ||
      ses_lov_read(&work->lov, root, root_size) != 0 || work->lov.magic == SES_LOV_COMP)
    return size;
  ses_lov_component(&work->lov, 0, given);
  if (get16(into + AT_STRIPE_COUNT) == 0)
    put16(into + AT_STRIPE_COUNT, given->stripe_count);
  if (get32(into + AT_STRIPE_SIZE) == 0)
    put32(into + AT_STRIPE_SIZE, given->stripe_size);
  if (get32(into) == SES_LOV_SPECIFIC || (get32(into) == SES_LOV_V3 && into[AT_POOL]))
    return size;
  if (get16(into + AT_STRIPE_OFFSET) == SES_LOV_ANY_OST)
    put16(into + AT_STRIPE_OFFSET, given->stripe_offset);
  if (!given->pool[0])
    return size;
  put32(into, SES_LOV_V3);
  memcpy(into + AT_POOL, given->pool, SES_LOV_POOL_SIZE);
  return V3_SIZE;
}

/* STATED: stripe count and size of the choice hold.  OPEN: without a count all OSTs are taken. */
static struct change change_of(const struct ses_lov_choice *choice, unsigned count, bool stated,
                               bool open) {
  struct change change = {choice, stated ? choice->stripe_count : 0, choice->ost_count};
  unsigned wanted = change.stripe_count ? change.stripe_count : open ? 0 : count;
  if (wanted && wanted < change.listed)
    change.listed = wanted;
  return change;
}

static size_t changed_size(const struct change *change) {
  switch (change->choice->form) {
  case SES_LOV_POOL:
    return V3_SIZE;
  case SES_LOV_LIST:
    return V3_SIZE + (size_t)change->listed * OBJECT_SIZE;
  default:
    return V1_SIZE;
  }
}

static void write_pool(unsigned char *part, const char *pool) {
  put32(part + AT_MAGIC, SES_LOV_V3);
  put16(part + AT_STRIPE_OFFSET, SES_LOV_ANY_OST);
  for (size_t i = 0; pool[i]; i++)
    part[AT_POOL + i] = (unsigned char)pool[i];
}

static void write_list(unsigned char *part, const uint16_t *osts, unsigned count) {
  put32(part + AT_MAGIC, SES_LOV_SPECIFIC);
  put16(part + AT_STRIPE_OFFSET, osts[0]);
  for (unsigned i = 0; i < count; i++)
    put32(part + V3_SIZE + (size_t)i * OBJECT_SIZE + AT_OBJECT_OST, osts[i]);
}

/* Write the plain layout that WAS becomes. */
static __attribute__((noinline)) void write_part(unsigned char *part,
                                                 const struct ses_lov_component *was,
                                                 const struct change *change, bool stated) {
  const struct ses_lov_choice *choice = change->choice;
  unsigned count = change->stripe_count ? change->stripe_count : was->stripe_count;
  memset(part, 0, changed_size(change));
  if (choice->form == SES_LOV_POOL) {
    write_pool(part, choice->pool);
  } else if (choice->form == SES_LOV_LIST) {
    write_list(part, choice->osts, change->listed);
    count = change->listed;
  } else {
    put32(part + AT_MAGIC, SES_LOV_V1);
    put16(part + AT_STRIPE_OFFSET, choice->osts[0]);
    count = change->stripe_count ? change->stripe_count : change->listed;
  }
  put32(part + AT_PATTERN, was->pattern);
  put32(part + AT_STRIPE_SIZE,
        stated && choice->stripe_size ? choice->stripe_size : was->stripe_size);
  put16(part + AT_STRIPE_COUNT, count);
}

bool ses_lov_holds_data_on_osts(const struct ses_lov_component *component) {
  return is_plain(component->magic) &&
         !(component->pattern & ~(SES_LOV_PATTERN_RAID0 | SES_LOV_PATTERN_OVERSTRIPING)) &&
         !(component->flags & SES_LOV_COMPONENT_EXTENSION);
}

static bool may_change(const struct ses_lov_component *component) {
  return ses_lov_holds_data_on_osts(component) && !(component->flags & SES_LOV_COMPONENT_INIT);
}

unsigned ses_lov_width(const void *bytes, size_t size, struct ses_lov_work *work) {
  struct ses_lov_component *component = &work->component;
  if (ses_lov_read(&work->lov, bytes, size) != 0)
    return 0;
  for (unsigned i = 0; ses_lov_component(&work->lov, i, component); i++) {
    if (i > 0 && component->start == 0) /* the second mirror */
      return 0;
    if (may_change(component))
      return component->pattern & SES_LOV_PATTERN_OVERSTRIPING ? SES_LOV_ALL_OSTS
                                                               : component->stripe_count;
  }
  return 0;
}

/* May a component behind the first one be changed as well? */
static bool is_open_to(const struct ses_lov_component *component,
                       const struct ses_lov_choice *choice) {
  unsigned width = choice->form == SES_LOV_POOL ? STRIPES_MAX : choice->ost_count;
  return !component->pool[0] && component->stripe_count <= width;
}

/* Make room in the layout at INTO for component NUMBER, which is WAS, to be LENGTH long. */
static __attribute__((noinline)) long resize(unsigned char *into, size_t size, size_t room,
                                             unsigned number, const struct ses_lov_component *was,
                                             size_t length) {
  unsigned entries = get16(into + AT_COMP_ENTRIES);
  size_t end = (size_t)was->at + was->length;
  if (length > was->length && length - was->length > room - size)
    return -ERANGE;
  memmove(into + was->at + length, into + end, size - end);
  for (unsigned i = 0; i < entries; i++) {
    unsigned char *entry = into + COMP_SIZE + (size_t)i * ENTRY_SIZE;
    uint32_t offset = get32(entry + AT_ENTRY_OFFSET);
    if (i == number)
      put32(entry + AT_ENTRY_SIZE, (uint32_t)length);
    else if (offset >= end)
      put32(entry + AT_ENTRY_OFFSET, (uint32_t)(offset - was->length + length));
  }
  size = size - was->length + length;
  put32(into + AT_COMP_SIZE, (uint32_t)size);
  return (long)size;
}

/* Change the layout of SIZE bytes at INTO. */
static long edit_composite(const struct ses_lov_choice *choice, unsigned char *into, size_t size,
                           size_t room, struct ses_lov_work *work) {
  struct ses_lov_component *was = &work->component;
  bool changed = false;
  for (unsigned i = 0;; i++) {
    if (ses_lov_read(&work->lov, into, size) != 0)
      return -EINVAL; /* parts that lie on each other do not survive a change */
    if (!ses_lov_component(&work->lov, i, was) || (i > 0 && was->start == 0))
      return changed ? (long)size : -EOPNOTSUPP; /* the end, or the second mirror */
    if (!may_change(was))
      continue;
    if (changed && !is_open_to(was, choice)) {
      /* Lustre gives a mirror's later component the pool of the one before it. */
      if (choice->form == SES_LOV_POOL && work->lov.mirrors > 1 && !was->pool[0])
        return -EOPNOTSUPP;
      continue;
    }
    struct change change = change_of(choice, was->stripe_count, !changed, false);
    long resized = resize(into, size, room, i, was, changed_size(&change));
    if (resized < 0)
      return resized;
    size = (size_t)resized;
    write_part(into + was->at, was, &change, !changed);
    changed = true;
  }
}

/* The same for a plain layout, or for none (SIZE 0). */
static long edit_plain(const struct ses_lov_choice *choice, unsigned char *into, size_t room,
                       struct ses_lov_work *work) {
  struct ses_lov_component *was = &work->component;
  if (work->lov.size > 0)
    ses_lov_component(&work->lov, 0, was);
  else
    *was = (struct ses_lov_component){.magic = SES_LOV_V1};
  if (!may_change(was))
    return -EOPNOTSUPP;
  struct change change = change_of(choice, was->stripe_count, true, true);
  if (changed_size(&change) > room)
    return -ERANGE;
  write_part(into, was, &change, true);
  return (long)changed_size(&change);
}

long ses_lov_edit(const void *inherited, size_t size, const struct ses_lov_choice *choice,
                  void *into, size_t room, struct ses_lov_work *work) {
  work->lov = (struct ses_lov){.size = 0};
  if (!is_choice(choice) || (size > 0 && ses_lov_read(&work->lov, inherited, size) != 0))
    return -EINVAL;
  if (work->lov.magic != SES_LOV_COMP)
    return edit_plain(choice, into, room, work);
  size = work->lov.size;
  if (size > room)
    return -ERANGE;
  memcpy(into, inherited, size);
  return edit_composite(choice, into, size, room, work);
}
