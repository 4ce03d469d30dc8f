/* Creates the file of its argument and prints its descriptor. */
#include <fcntl.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int fd = argc > 1 ? open(argv[1], O_CREAT | O_WRONLY, 0644) : -1;
  printf("%d\n", fd);
  return fd < 0;
}
