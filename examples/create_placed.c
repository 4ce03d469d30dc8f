/*
 * Copies its input into a file of its own making, on an element that writes
 * fast enough.  Says on standard error where the file went, and why.
 *
 *     cc create_placed.c $(pkg-config --cflags --libs ses) -o create_placed
 *     create_placed FILE MB_PER_SECOND <input
 *
 * An existing FILE is left alone (O_EXCL).
 */
#include <fcntl.h>
#include <ses/ses.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int copy(int from, int to) {
  static char buffer[1 << 20];
  ssize_t length;
  while ((length = read(from, buffer, sizeof buffer)) > 0)
    for (ssize_t done = 0, step; done < length; done += step)
      if ((step = write(to, buffer + done, (size_t)(length - done))) < 0)
        return -1;
  return length < 0 ? -1 : 0;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: create_placed FILE MB_PER_SECOND <input\n");
    return 2;
  }

  ses_policy *policy = ses_policy_new();
  ses_status status = ses_policy_set_average_write_rate(policy, strtod(argv[2], NULL));
  if (status != SES_OK) {
    fprintf(stderr, "create_placed: %s: %s\n", argv[2], ses_strerror(status));
    ses_policy_free(policy);
    return 2;
  }

  ses_result result;
  int fd = ses_create_at(AT_FDCWD, argv[1], O_WRONLY | O_EXCL | O_CLOEXEC, 0666, policy, &result);
  ses_policy_free(policy);
  if (fd < 0) {
    perror(argv[1]);
    return 1;
  }
  if (result.placed)
    fprintf(stderr, "%s is on %s, distance %.2f\n", argv[1], result.element, result.distance);
  else
    fprintf(stderr, "%s was not placed: %s\n", argv[1], ses_strerror(result.reason));

  if (copy(STDIN_FILENO, fd) != 0 || close(fd) != 0) {
    perror(argv[1]);
    return 1;
  }
  return 0;
}
