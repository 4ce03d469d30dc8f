/*
 * plugin LIBRARY TIMES: loads LIBRARY, creates the file "part" by it and unloads it, over and over;
 * prints how many mappings the process has after the first time and after the last.
 */
#include <dlfcn.h>
#include <ses/ses.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int mappings(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  int lines = 0, c;
  while (maps && (c = getc(maps)) != EOF)
    lines += c == '\n';
  if (maps)
    fclose(maps);
  return lines;
}

int main(int argc, char **argv) {
  int first = 0, placed = 0, times = argc == 3 ? atoi(argv[2]) : 0;
  for (int i = 0; i < times; i++) {
    ses_result result;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      fprintf(stderr, "%d: %s\n", i, dlerror());
      return 1;
    }
    int (*create)(const char *, mode_t, const ses_policy *, ses_result *);
    *(void **)&create = dlsym(library, "ses_create");
    int fd = create("part", 0600, NULL, &result);
    placed += result.placed;
    if (fd < 0 || close(fd) != 0 || unlink("part") != 0 || dlclose(library) != 0)
      return 1;
    if (i == 0)
      first = mappings();
  }
  printf("placed=%d\nfirst=%d\nlast=%d\n", placed, first, mappings());
  return 0;
}
