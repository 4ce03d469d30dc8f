/* Creates a file in its constructor, which runs before that of a preloaded library. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void create_early(void) {
  const char *path = getenv("EARLY_FILE");
  if (path)
    close(open(path, O_CREAT | O_WRONLY, 0644));
}

void early_is_linked(void) {}
