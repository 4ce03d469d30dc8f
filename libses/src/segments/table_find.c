#include "segments/published.h"

static uint32_t word(const uint32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

bool ses_table_find(const struct ses_table *table, unsigned major, unsigned minor, unsigned *mount,
                    unsigned *system) {
  uint32_t count = word(&table->head.mounts);
  for (unsigned i = 0; i < count && i < SES_TABLE_MOUNTS; i++) {
    const struct ses_table_mount *entry = &table->mounts[i];
    uint32_t number = word(&entry->system);
    if (word(&entry->device_major) == major && word(&entry->device_minor) == minor &&
        number < SES_TABLE_SYSTEMS && word(&entry->system) == number) {
      *mount = i;
      *system = number;
      return word(&table->systems[number].sequence) != 0;
    }
  }
  return false;
}
