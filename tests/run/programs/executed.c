/*
 * Creates a program, runs it and removes it, 50 times: prints how often it could not be run, and
 * why it was the last time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  static char *const arguments[] = {"made", NULL};
  static const char text[] = "#!/bin/true\n";
  int failed = 0, why = 0;
  for (int i = 0; i < 50; i++) {
    int fd = open("made", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
    if (fd < 0 || write(fd, text, sizeof text - 1) < 0 || close(fd) != 0)
      return 1;
    volatile int error = 0;
    pid_t child = vfork();
    if (child == 0) {
      execv("made", arguments);
      error = errno;
      _exit(0);
    }
    waitpid(child, NULL, 0);
    failed += error != 0;
    why = error ? error : why;
    unlink("made");
  }
  printf("%d %d\n", failed, why);
  return 0;
}
