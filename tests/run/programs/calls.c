/*
 * Creates files in many ways below the directory of its argument and prints what came of each: the
 * same lines wherever it runs, if nobody can be told from the original call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct open_how { /* linux/openat2.h, which musl does not bring */
  unsigned long long flags;
  unsigned long long mode;
  unsigned long long resolve;
};
#define RESOLVE_BENEATH 8

static void show(const char *what, int fd) {
  struct stat status = {0};
  if (fd < 0) {
    printf("%s: errno %d\n", what, errno);
    return;
  }
  fstat(fd, &status);
  printf("%s: fd %d flags %o close-on-exec %d mode %o owner %u:%u size %lld offset %lld\n", what,
         fd, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), status.st_mode, status.st_uid, status.st_gid,
         (long long)status.st_size, (long long)lseek(fd, 0, SEEK_CUR));
  close(fd);
}

static void flags_and_modes(void) {
  static const int flags[] = {O_WRONLY,
                              O_RDONLY,
                              O_RDWR,
                              O_WRONLY | O_EXCL,
                              O_WRONLY | O_TRUNC,
                              O_WRONLY | O_APPEND,
                              O_WRONLY | O_CLOEXEC,
                              O_WRONLY | O_NOFOLLOW,
                              O_WRONLY | O_SYNC,
                              O_RDWR | O_EXCL | O_CLOEXEC | O_APPEND,
                              O_WRONLY | O_DIRECTORY,
                              O_PATH,
                              O_WRONLY | O_RDWR};
  static const mode_t modes[] = {0644, 0600, 0777, 0444, 0200, 0, 04755};
  static const mode_t masks[] = {0, 022, 077, 0777};
  char name[64];
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
    for (size_t j = 0; j < sizeof modes / sizeof modes[0]; j++)
      for (size_t k = 0; k < sizeof masks / sizeof masks[0]; k++) {
        snprintf(name, sizeof name, "f-%zu-%zu-%zu", i, j, k);
        umask(masks[k]);
        show(name, open(name, O_CREAT | flags[i], modes[j]));
        show(name, open(name, O_CREAT | flags[i], modes[j])); /* and once more */
      }
  umask(022);
}

static void names(void) {
  char longest[300];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  mkdir("d", 0755);
  symlink("d", "to-d");
  symlink("nowhere", "dangling");
  symlink("loop", "loop");
  const char *paths[] = {"",
                         "plain",
                         "./dotted",
                         "d/../up",
                         "d/",
                         "d",
                         "d/.",
                         "missing/file",
                         "plain/file",
                         "slash/",
                         "to-d/through",
                         "dangling",
                         "loop",
                         "/proc/self/cwd/magic",
                         "/dev/null",
                         longest};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    show(paths[i], open(paths[i], O_CREAT | O_WRONLY, 0644));
  show("creat", creat("by-creat", 0640));
  show("system call open", (int)syscall(SYS_open, "by-open", O_CREAT | O_WRONLY, 0640));
  show("system call creat", (int)syscall(SYS_creat, "by-syscall-creat", 0640));
  show("unnamed", open(".", O_TMPFILE | O_WRONLY, 0640));
}

static void directories(void) {
  int d = open("d", O_RDONLY | O_DIRECTORY);
  int path_only = open("d", O_PATH | O_DIRECTORY);
  int file = open("plain", O_RDONLY);
  show("in d", openat(d, "in-d", O_CREAT | O_WRONLY, 0644));
  show("in d by O_PATH", openat(path_only, "by-path", O_CREAT | O_WRONLY | O_EXCL, 0644));
  show("up from d", openat(d, "../up-from-d", O_CREAT | O_WRONLY, 0644));
  show("in a file", openat(file, "x", O_CREAT | O_WRONLY, 0644));
  show("in nothing", openat(99, "x", O_CREAT | O_WRONLY, 0644));
  mkdir("execute-only", 0711);
  show("execute-only", open("execute-only/x", O_CREAT | O_WRONLY, 0644));
  mkdir("setgid", 02775);
  chown("setgid", -1, 12);
  chmod("setgid", 02775);
  show("setgid", open("setgid/x", O_CREAT | O_WRONLY, 0644));
  chdir("d");
  show("after chdir", open("after-chdir", O_CREAT | O_WRONLY, 0644));
  chdir("..");
  rmdir("gone");
  mkdir("gone", 0755);
  chdir("gone");
  rmdir("../gone");
  show("in a removed directory", open("x", O_CREAT | O_WRONLY, 0644));
  fchdir(d);
  chdir("..");
  close(d);
  close(path_only);
  close(file);
}

static void addresses(void) {
  char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages + 4096, 4096, PROT_NONE);
  memcpy(pages + 4096 - 9, "at-end-1", 9);
  show("path at the end of memory", open(pages + 4096 - 9, O_CREAT | O_WRONLY, 0644));
  memset(pages + 4096 - 8, 'x', 8);
  show("path into nothing", open(pages + 4096 - 8, O_CREAT | O_WRONLY, 0644));
  show("bad address", open((char *)1, O_CREAT | O_WRONLY, 0644));
  char across[3 * 4096] = {0};
  memset(across, '/', sizeof across - 1);
  memcpy(across + 4000, "x", 2);
  char *start = (char *)(((unsigned long)across & ~4095ul) + 2 * 4096) - 4;
  memcpy(start, "./across-pages", 15);
  show("across pages", open(start, O_CREAT | O_WRONLY, 0644));
}

static void by_openat2(void) {
  struct open_how how = {.flags = O_CREAT | O_WRONLY, .mode = 0640};
  show("openat2", (int)syscall(SYS_openat2, AT_FDCWD, "by-openat2", &how, sizeof how));
  how.resolve = RESOLVE_BENEATH;
  show("openat2 beneath", (int)syscall(SYS_openat2, AT_FDCWD, "beneath", &how, sizeof how));
  show("openat2 above", (int)syscall(SYS_openat2, AT_FDCWD, "../above", &how, sizeof how));
  how.flags = O_RDONLY;
  how.mode = 0;
  how.resolve = 0;
  show("openat2 reading", (int)syscall(SYS_openat2, AT_FDCWD, "plain", &how, sizeof how));
}

static void show_node(const char *path, int result) {
  struct stat status = {0};
  if (result != 0) {
    printf("%s: errno %d\n", path, errno);
    return;
  }
  lstat(path, &status);
  printf("%s: mode %o owner %u:%u links %lu size %lld\n", path, status.st_mode, status.st_uid,
         status.st_gid, (unsigned long)status.st_nlink, (long long)status.st_size);
}

static void nodes(void) {
  static const mode_t modes[] = {0644,           S_IFREG | 0600,  S_IFREG | 0444,
                                 S_IFIFO | 0644, S_IFSOCK | 0644, S_IFDIR | 0755,
                                 S_IFREG,        S_IFMT | 0644,   S_IFREG | 04755};
  char name[64];
  int d = open("d", O_PATH | O_DIRECTORY);
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    snprintf(name, sizeof name, "node-%zu", i);
    show_node(name, mknod(name, modes[i], 0));
    show_node(name, mknod(name, modes[i], 0));
    snprintf(name, sizeof name, "old-node-%zu", i);
    show_node(name, (int)syscall(SYS_mknod, name, modes[i], 0));
    snprintf(name, sizeof name, "d/node-%zu", i);
    show_node(name, mknodat(d, name + 2, modes[i], 0));
  }
  show_node("missing/node", mknod("missing/node", 0644, 0));
  show_node("dangling-node",
            symlink("nowhere", "dangling-node") || mknod("dangling-node", 0644, 0));
  close(d);
}

static void *in_thread(void *unused) {
  show("in a thread", open("in-thread", O_CREAT | O_WRONLY, 0644));
  return unused;
}

static void *own_directory(void *unused) {
  unshare(CLONE_FS);
  chdir("d");
  umask(0007);
  show("in a thread with a directory of its own", open("own", O_CREAT | O_WRONLY, 0666));
  return unused;
}

static void *own_descriptors(void *unused) {
  unshare(CLONE_FILES);
  int d = open("d", O_RDONLY | O_DIRECTORY);
  show("by a descriptor of its own", openat(d, "own-descriptor", O_CREAT | O_WRONLY, 0666));
  close(d);
  return unused;
}

static void threads_and_children(void) {
  void *(*bodies[])(void *) = {in_thread, own_directory, own_descriptors};
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, bodies[i], NULL);
    pthread_join(thread, NULL);
  }
  fflush(stdout);
  for (int i = 0; i < 2; i++) {
    pid_t child = i ? vfork() : fork();
    if (child == 0)
      _exit(open(i ? "by-vfork" : "by-fork", O_CREAT | O_WRONLY, 0644) < 0);
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d: %d\n", i, status);
  }
}

static void limits(void) {
  struct rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  struct rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  show("no descriptor left", open("no-descriptor", O_CREAT | O_WRONLY, 0644));
  show("no descriptor left, new", open("no-descriptor-2", O_CREAT | O_WRONLY | O_EXCL, 0644));
  setrlimit(RLIMIT_NOFILE, &before);
  printf("left behind: %d %d\n", access("no-descriptor", F_OK), access("no-descriptor-2", F_OK));
}

static void *as_daemon(void *unused) {
  syscall(SYS_setresuid, -1, 1, -1);
  show("thread that is another user", open("open-to-all/by-thread", O_CREAT | O_WRONLY, 0644));
  show("where it may not", open("d/by-thread", O_CREAT | O_WRONLY, 0644));
  return unused;
}

static void in_root(void) {
  chroot("d");
  show("relative in a root", open("relative-in-root", O_CREAT | O_WRONLY, 0644));
  chdir("/");
  show("absolute in a root", open("/absolute-in-root", O_CREAT | O_WRONLY, 0644));
  symlink("/inner", "absolute-link");
  mkdir("inner", 0755);
  show("by an absolute link in a root", open("/absolute-link/x", O_CREAT | O_WRONLY, 0644));
  show("above the root", open("/../../above-root", O_CREAT | O_WRONLY, 0644));
  show("above the root, relative", open("../above-root-2", O_CREAT | O_WRONLY, 0644));
  show("absolute outside", open("/tmp/x", O_CREAT | O_WRONLY, 0644));
}

static void as_others(void) {
  mkdir("open-to-all", 0777);
  chmod("open-to-all", 01777);
  pthread_t thread;
  pthread_create(&thread, NULL, as_daemon, NULL);
  pthread_join(thread, NULL);
  fflush(stdout);
  for (int i = 0; i < 2; i++) {
    if (fork() == 0) {
      if (i == 0) {
        in_root();
      } else {
        setgid(7);
        setuid(2);
        show("after setuid", open("open-to-all/by-setuid", O_CREAT | O_WRONLY, 0664));
        show("after setuid, nowhere", open("d/by-setuid", O_CREAT | O_WRONLY, 0664));
      }
      fflush(stdout);
      _exit(0);
    }
    wait(NULL);
  }
}

int main(int argc, char **argv) {
  if (argc < 2 || chdir(argv[1]) != 0)
    return 1;
  flags_and_modes();
  names();
  directories();
  addresses();
  by_openat2();
  nodes();
  threads_and_children();
  limits();
  if (geteuid() == 0)
    as_others();
  return 0;
}
