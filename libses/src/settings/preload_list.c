#include "settings/preload_list.h"

#include <stddef.h>
#include <string.h>

bool ses_preload_list_names(const char *list, const char *entry) {
  const char *slash = strrchr(entry, '/');
  const char *name = slash ? slash + 1 : entry;
  size_t length = strlen(name);
  while (*(list += strspn(list, SES_PRELOAD_SEPARATORS))) {
    size_t size = strcspn(list, SES_PRELOAD_SEPARATORS);
    bool ends_so = size >= length && memcmp(list + size - length, name, length) == 0;
    if (ends_so && (size == length || list[size - length - 1] == '/'))
      return true;
    list += size;
  }
  return false;
}
