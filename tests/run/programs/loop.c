/*
 * Creates loop-0, loop-1, ... in a directory, each new (O_EXCL), as many as told, or, for -1, until
 * a line comes on standard input; prints how many.  Ends with 1 at the first that fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int told_to_end(void) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  return poll(&input, 1, 0) > 0;
}

int main(int argc, char **argv) {
  if (argc < 3 || chdir(argv[1]) != 0)
    return 2;
  long most = strtol(argv[2], NULL, 10);
  long made = 0;
  while (most >= 0 ? made < most : !told_to_end()) {
    char name[32];
    snprintf(name, sizeof name, "loop-%ld", made);
    int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (fd < 0 || write(fd, "x", 1) != 1) {
      fprintf(stderr, "%s, descriptor %d: %s\n", name, fd, strerror(errno));
      return 1;
    }
    close(fd);
    made++;
  }
  printf("%ld\n", made);
  return 0;
}
