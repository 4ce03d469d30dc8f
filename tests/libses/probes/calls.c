/*
 * calls DIR: create one file by every call that can, each under the name of
 * the call, and print "CALL RESULT ERRNO" per line (RESULT 0: a file, -1: none).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern int __open(const char *path, int flags, ...);
extern int __open64(const char *path, int flags, ...);
extern FILE *_IO_fopen(const char *path, const char *mode);
/* Programs linked before glibc 2.33 refer to these. */
#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.17"
#endif
extern int old_xmknod(int version, const char *path, mode_t mode, dev_t *device);
extern int old_xmknodat(int version, int dirfd, const char *path, mode_t mode, dev_t *device);
__asm__(".symver old_xmknod,__xmknod@" OLDEST);
#if defined(__x86_64__)
__asm__(".symver old_xmknodat,__xmknodat@GLIBC_2.4");
#else
__asm__(".symver old_xmknodat,__xmknodat@" OLDEST);
#endif

static const char *directory;
static char path[4096];

static const char *file(const char *name) {
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static char *pattern(const char *name) {
  snprintf(path, sizeof path, "%s/%s-XXXXXX", directory, name);
  return path;
}

static char *pattern_with_suffix(const char *name) {
  snprintf(path, sizeof path, "%s/%s-XXXXXX.tmp", directory, name);
  return path;
}

static void tell(const char *name, int result) {
  printf("%s %d %d\n", name, result < 0 ? -1 : 0, result < 0 ? errno : 0);
}

static void descriptor(const char *name, int fd) {
  tell(name, fd);
  if (fd >= 0)
    close(fd);
}

static void stream(const char *name, FILE *opened) {
  tell(name, opened ? 0 : -1);
  if (opened)
    fclose(opened);
}

/* The file becomes the output of true(1), after a descriptor that is read from. */
static void spawn(const char *name,
                  int (*call)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                              const posix_spawnattr_t *, char *const *, char *const *)) {
  posix_spawn_file_actions_t actions;
  char *arguments[] = {"true", NULL};
  pid_t child;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, file(name), O_CREAT | O_WRONLY, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  errno = call(&child, "/bin/true", &actions, NULL, arguments, environ);
  tell(name, errno ? -1 : 0);
  if (errno == 0)
    waitpid(child, NULL, 0);
  posix_spawn_file_actions_destroy(&actions);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  directory = argv[1];
  dev_t none = 0;
  int wanted = O_CREAT | O_WRONLY;
  descriptor("open", open(file("open"), wanted, 0644));
  descriptor("open64", open64(file("open64"), O_CREAT | O_RDWR | O_EXCL, 0644));
  descriptor("__open", __open(file("__open"), wanted, 0644));
  descriptor("__open64", __open64(file("__open64"), wanted | O_TRUNC, 0644));
  descriptor("openat", openat(AT_FDCWD, file("openat"), wanted, 0644));
  int dirfd = open(directory, O_RDONLY | O_DIRECTORY);
  descriptor("openat64", openat64(dirfd, "openat64", wanted, 0644));
  descriptor("creat", creat(file("creat"), 0644));
  descriptor("creat64", creat64(file("creat64"), 0644));
  stream("fopen", fopen(file("fopen"), "w"));
  stream("fopen64", fopen64(file("fopen64"), "a+"));
  stream("_IO_fopen", _IO_fopen(file("_IO_fopen"), "wx"));
  stream("freopen", freopen(file("freopen"), "w", fopen("/dev/null", "r")));
  stream("freopen64", freopen64(file("freopen64"), "a", fopen("/dev/null", "r")));
  descriptor("mkstemp", mkstemp(pattern("mkstemp")));
  descriptor("mkstemp64", mkstemp64(pattern("mkstemp64")));
  descriptor("mkostemp", mkostemp(pattern("mkostemp"), O_CLOEXEC));
  descriptor("mkostemp64", mkostemp64(pattern("mkostemp64"), O_APPEND));
  descriptor("mkstemps", mkstemps(pattern_with_suffix("mkstemps"), 4));
  descriptor("mkstemps64", mkstemps64(pattern_with_suffix("mkstemps64"), 4));
  descriptor("mkostemps", mkostemps(pattern_with_suffix("mkostemps"), 4, O_CLOEXEC));
  descriptor("mkostemps64", mkostemps64(pattern_with_suffix("mkostemps64"), 4, O_SYNC));
  tell("mknod", mknod(file("mknod"), S_IFREG | 0644, 0));
  tell("mknodat", mknodat(dirfd, "mknodat", 0600, 0));
  tell("__xmknod", old_xmknod(0, file("__xmknod"), S_IFREG | 0644, &none));
  tell("__xmknodat", old_xmknodat(0, AT_FDCWD, file("__xmknodat"), S_IFREG | 0644, &none));
  spawn("posix_spawn", posix_spawn);
  spawn("posix_spawnp", posix_spawnp);
  return 0;
}
