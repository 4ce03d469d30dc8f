#include "runtime/names.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/* Under the version that each glibc has them by, and NULL where nothing loaded has them. */
#if defined(__GLIBC__) && defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__GLIBC__) && defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#endif
#ifdef FIRST_VERSION
__asm__(".symver dlsym, dlsym@" FIRST_VERSION);
__asm__(".symver pthread_testcancel, pthread_testcancel@" FIRST_VERSION);
#endif
#pragma weak dlsym
#pragma weak pthread_testcancel

#define HIDDEN_VERSION 0x8000u

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static const ElfW(Dyn) * entry_of(const ElfW(Dyn) * dynamic, ElfW(Sxword) tag) {
  for (; dynamic->d_tag != DT_NULL; dynamic++)
    if (dynamic->d_tag == tag)
      return dynamic;
  return NULL;
}

/* The loader turns most of these offsets into addresses, but not those of the kernel's library. */
static const void *table_of(const struct link_map *map, ElfW(Sxword) tag) {
  const ElfW(Dyn) *entry = entry_of(map->l_ld, tag);
  if (!entry)
    return NULL;
  uintptr_t at = entry->d_un.d_ptr;
  return (const void *)(at < map->l_addr ? at + map->l_addr : at);
}

/* What is loaded, in the order of searches: as the program shows debuggers. */
static const struct link_map *loaded(void) {
  const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
  size_t count = headers ? getauxval(AT_PHNUM) : 0;
  uintptr_t base = 0;
  const ElfW(Dyn) *debug = NULL;
  for (size_t i = 0; i < count; i++) { /* PT_PHDR comes before the others */
    if (headers[i].p_type == PT_PHDR)
      base = (uintptr_t)headers - headers[i].p_vaddr;
    else if (headers[i].p_type == PT_DYNAMIC)
      debug = entry_of((const void *)(base + headers[i].p_vaddr), DT_DEBUG);
  }
  const struct r_debug *loader = debug ? (const void *)debug->d_un.d_ptr : NULL;
  return loader ? loader->r_map : NULL;
}

/* As the loader finds NAME, of its versions the latest. */
static void *find_in(const struct link_map *map, const char *name) {
  const uint32_t *hashes = table_of(map, DT_GNU_HASH);
  const ElfW(Sym) *symbols = table_of(map, DT_SYMTAB);
  const char *strings = table_of(map, DT_STRTAB);
  const uint16_t *versions = table_of(map, DT_VERSYM);
  if (!hashes || !symbols || !strings || hashes[0] == 0)
    return NULL;
  uint32_t wanted = 5381;
  for (const char *at = name; *at; at++)
    wanted = wanted * 33 + (unsigned char)*at;
  uint32_t buckets = hashes[0], first = hashes[1];
  const uint32_t *bucket = (const void *)((const ElfW(Addr) *)(hashes + 4) + hashes[2]);
  const uint32_t *chain = bucket + buckets;
  uint32_t i = bucket[wanted % buckets];
  for (uint32_t hash = 0; i >= first && !(hash & 1); i++) { /* the lowest bit ends a chain */
    hash = chain[i - first];
    if ((hash | 1) == (wanted | 1) && symbols[i].st_shndx != SHN_UNDEF &&
        !(versions && versions[i] & HIDDEN_VERSION) &&
        strcmp(strings + symbols[i].st_name, name) == 0)
      return (void *)(map->l_addr + symbols[i].st_value);
  }
  return NULL;
}

static __attribute__((noinline)) void *search(const char *name) {
  const struct link_map *map = loaded();
  void *address = NULL;
  while (map && map->l_ld != _DYNAMIC)
    map = map->l_next;
  while (map && !address && (map = map->l_next))
    address = find_in(map, name);
  return address;
}

void *ses_next_of(const char *name) { return dlsym ? dlsym(RTLD_NEXT, name) : search(name); }

void *ses_first_of(const char *name) { return dlsym ? dlsym(RTLD_DEFAULT, name) : NULL; }

void ses_test_cancel(void) {
  if (pthread_testcancel)
    pthread_testcancel();
}
