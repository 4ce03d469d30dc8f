/* Creates a file in its constructor, which runs before that of a preloaded library, and one in its
 * destructor, which runs after it. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void create(const char *variable) {
  const char *path = getenv(variable);
  if (path)
    close(open(path, O_CREAT | O_WRONLY, 0644));
}

__attribute__((constructor)) static void create_early(void) { create("EARLY_FILE"); }

__attribute__((destructor)) static void create_late(void) { create("LATE_FILE"); }

void early_is_linked(void) {}
