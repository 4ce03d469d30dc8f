/*
 * Make one call and print everything a program could notice about it.
 *
 *   create open|openat|creat FLAGS MODE UMASK PATH    (numbers as strtol() reads them)
 *   create fopen|freopen STREAM-MODE UMASK PATH
 *   create mkostemps FLAGS SUFFIX-LENGTH UMASK PATTERN
 *   create mknod MODE UMASK PATH
 *   create write FLAGS MODE TEXT PATH     open, write TEXT, then look
 *   create badpointer open|openat|creat|mknod       a path that is no address
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNTOUCHED 4321

static long number(const char *text) { return strtol(text, NULL, 0); }

static void look(int fd, int error) {
  struct stat stat;
  printf("fd=%d errno=%d", fd, error);
  if (fd >= 0 && fstat(fd, &stat) == 0)
    printf(" flags=%o close-on-exec=%d mode=%o uid=%u gid=%u links=%lu size=%ld offset=%ld",
           (unsigned)fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), stat.st_mode, stat.st_uid, stat.st_gid,
           (unsigned long)stat.st_nlink, (long)stat.st_size, (long)lseek(fd, 0, SEEK_CUR));
  /* The descriptors in use, ours included: nothing may have been left open. */
  printf(" open=");
  for (int i = 0; i < 64; i++)
    if (fcntl(i, F_GETFD) >= 0)
      printf("%d,", i);
  printf("\n");
}

static void look_at_stream(FILE *stream, int error) {
  look(stream ? fileno(stream) : -1, error);
  if (!stream)
    return;
  int put = fputs("text", stream) >= 0 && fflush(stream) == 0;
  clearerr(stream);
  rewind(stream);
  int got = fgetc(stream);
  long position = ftell(stream);
  printf("put=%d got=%d position=%ld close=%d\n", put, got, position, fclose(stream));
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  const char *call = argv[1];
  int fd = -1;
  errno = UNTOUCHED;
  if (!strcmp(call, "open") && argc == 6) {
    umask((mode_t)number(argv[4]));
    fd = open(argv[5], (int)number(argv[2]), (mode_t)number(argv[3]));
    look(fd, errno);
  } else if (!strcmp(call, "openat") && argc == 6) {
    umask((mode_t)number(argv[4]));
    char *name = strrchr(argv[5], '/');
    *name = '\0';
    int dirfd = open(argv[5], O_PATH | O_DIRECTORY);
    fd = openat(dirfd, name + 1, (int)number(argv[2]), (mode_t)number(argv[3]));
    look(fd, errno);
  } else if (!strcmp(call, "creat") && argc == 6) {
    umask((mode_t)number(argv[4]));
    fd = creat(argv[5], (mode_t)number(argv[3]));
    look(fd, errno);
  } else if (!strcmp(call, "fopen") && argc == 5) {
    umask((mode_t)number(argv[3]));
    FILE *stream = fopen(argv[4], argv[2]);
    look_at_stream(stream, errno);
  } else if (!strcmp(call, "freopen") && argc == 5) {
    umask((mode_t)number(argv[3]));
    FILE *stream = fopen("/dev/null", "r");
    errno = UNTOUCHED;
    stream = freopen(argv[4], argv[2], stream);
    look_at_stream(stream, errno);
  } else if (!strcmp(call, "mkostemps") && argc == 6) {
    umask((mode_t)number(argv[4]));
    fd = mkostemps(argv[5], (int)number(argv[3]), (int)number(argv[2]));
    int error = errno;
    printf("named=%d ", strstr(argv[5], "XXXXXX") == NULL);
    look(fd, error);
  } else if (!strcmp(call, "mknod") && argc == 5) {
    umask((mode_t)number(argv[3]));
    int result = mknod(argv[4], (mode_t)number(argv[2]), 0);
    int error = errno;
    struct stat stat = {0};
    lstat(argv[4], &stat);
    printf("result=%d mode=%o uid=%u gid=%u links=%lu ", result, stat.st_mode, stat.st_uid,
           stat.st_gid, (unsigned long)stat.st_nlink);
    look(-1, error);
  } else if (!strcmp(call, "write") && argc == 6) {
    fd = open(argv[5], (int)number(argv[2]), (mode_t)number(argv[3]));
    ssize_t written = write(fd, argv[4], strlen(argv[4]));
    printf("written=%zd ", written);
    look(fd, errno);
  } else if (!strcmp(call, "badpointer")) {
    const char *nowhere = (const char *)8;
    if (!strcmp(argv[2], "open"))
      fd = open(nowhere, O_CREAT | O_WRONLY, 0644);
    else if (!strcmp(argv[2], "openat"))
      fd = openat(AT_FDCWD, nowhere, O_CREAT | O_WRONLY, 0644);
    else if (!strcmp(argv[2], "creat"))
      fd = creat(nowhere, 0644);
    else
      fd = mknod(nowhere, S_IFREG | 0644, 0);
    look(fd, errno);
  } else {
    return 2;
  }
  return 0;
}
