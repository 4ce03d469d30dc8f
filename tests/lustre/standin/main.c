/*
 * standin STORE MOUNT [MOUNT]: a file system that stands in for Lustre where no
 * Lustre can run, so that what libses does to files can be tried and seen.
 *
 * What it is: the rules of the attribute "lustre.lov" as a Lustre 2.17.0 was
 * measured to have them.  A file opened for writing gets its objects at once,
 * by the default of its directory or of the root; one opened with the delay
 * flag has none, and cannot be written, until it is given a layout or opened
 * plainly; a layout on a file that has one is ignored with success; unknown
 * and empty pools are accepted; lists are strict, offsets are hints.  The bytes
 * of OST 3 are in STORE/ost0003, one file per object.  STORE/control says what
 * an administrator would: see striping.c.  Two mounts are two clients of one
 * server: a plain open for writing on the client that holds a delayed one
 * shares that one's handle and makes no objects, as measured.
 *
 * What it is NOT: fast, safe, or Lustre.  No locks, caches, RPCs or recovery;
 * no ioctl but the counting of IOC_OBD_STATFS, no lustre.lov.add or trusted.lov; no ACL, quota or
 * HSM; names live in memory and are gone with the process; f_type is that of FUSE.  The kernel
 * takes O_NOCTTY away from what FUSE is told, so the stand-in reads the flags of
 * the waiting call in /proc; and it cannot take O_ASYNC from what F_GETFL says,
 * as Lustre does with both bits: "standin.delayed" tells tests where it would.
 */
#include "operations.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* STANDIN_SERVER_US: how long a create and the setting of a layout take, as if a server did them;
 * what a client knows by itself (a layout it has just set) takes nothing more than FUSE does.  Then
 * the kernel also remembers attributes for a second, as a Lustre client does under its locks. */
static useconds_t server_us;

#define LOCKED(call)                                                                               \
  do {                                                                                             \
    pthread_mutex_lock(&lock);                                                                     \
    call;                                                                                          \
    pthread_mutex_unlock(&lock);                                                                   \
  } while (0)

typedef fuse_req_t request;
typedef fuse_ino_t number;
typedef struct fuse_file_info *file;

static void on_lookup(request r, number in, const char *name) { LOCKED(do_lookup(r, in, name)); }
static void on_forget(request r, number n, uint64_t count) { LOCKED(do_forget(r, n, count)); }
static void on_getattr(request r, number n, file f) {
  (void)f;
  LOCKED(do_getattr(r, n));
}
static void on_setattr(request r, number n, struct stat *to, int set, file f) {
  (void)f;
  LOCKED(do_setattr(r, n, to, set));
}
static void on_readlink(request r, number n) { LOCKED(do_readlink(r, n)); }
static void on_mknod(request r, number in, const char *name, mode_t mode, dev_t device) {
  (void)device;
  LOCKED(do_mknod(r, in, name, mode));
}
static void on_mkdir(request r, number in, const char *name, mode_t mode) {
  LOCKED(do_mknod(r, in, name, mode | S_IFDIR));
}
static void on_unlink(request r, number in, const char *name) { LOCKED(do_unlink(r, in, name)); }
static void on_rmdir(request r, number in, const char *name) { LOCKED(do_rmdir(r, in, name)); }
static void on_symlink(request r, const char *target, number in, const char *name) {
  LOCKED(do_symlink(r, target, in, name));
}
static void on_rename(request r, number in, const char *name, number to, const char *to_name,
                      unsigned flags) {
  LOCKED(do_rename(r, in, name, to, to_name, flags));
}
static void on_link(request r, number n, number in, const char *name) {
  LOCKED(do_link(r, n, in, name));
}
static void on_create(request r, number in, const char *name, mode_t mode, file f) {
  usleep(server_us);
  LOCKED(do_create(r, in, name, mode, f));
}
static void on_open(request r, number n, file f) { LOCKED(do_open(r, n, f)); }
static void on_release(request r, number n, file f) { LOCKED(do_release(r, n, f)); }
static void on_read(request r, number n, size_t size, off_t offset, file f) {
  (void)f;
  LOCKED(do_read(r, n, size, offset));
}
static void on_write(request r, number n, const char *bytes, size_t size, off_t offset, file f) {
  LOCKED(do_write(r, n, bytes, size, offset, f));
}
static void on_fsync(request r, number n, int data, file f) {
  (void)n, (void)data, (void)f;
  fuse_reply_err(r, 0);
}
static void on_opendir(request r, number n, file f) { LOCKED(do_opendir(r, n, f)); }
static void on_ioctl(request r, number n, unsigned command, void *argument, file f, unsigned flags,
                     const void *in, size_t in_size, size_t out_size) {
  (void)n, (void)argument, (void)f, (void)flags, (void)in, (void)in_size, (void)out_size;
  gate("before-answer");
  LOCKED(do_ioctl(r, command));
}
static void on_readdir(request r, number n, size_t size, off_t offset, file f) {
  (void)f;
  LOCKED(do_readdir(r, n, size, offset));
}
static void on_statfs(request r, number n) {
  (void)n;
  struct statvfs facts = {.f_bsize = 4096,
                          .f_frsize = 4096,
                          .f_blocks = 1 << 20,
                          .f_bfree = 1 << 20,
                          .f_bavail = 1 << 20,
                          .f_namemax = 255};
  fuse_reply_statfs(r, &facts);
}
static void on_setxattr(request r, number n, const char *name, const char *value, size_t size,
                        int flags) {
  (void)flags;
  gate("before-layout");
  usleep(server_us);
  LOCKED(do_setxattr(r, n, name, value, size));
}
static void on_getxattr(request r, number n, const char *name, size_t size) {
  LOCKED(do_getxattr(r, n, name, size));
}

static const struct fuse_lowlevel_ops operations = {.lookup = on_lookup,
                                                    .forget = on_forget,
                                                    .getattr = on_getattr,
                                                    .setattr = on_setattr,
                                                    .readlink = on_readlink,
                                                    .mknod = on_mknod,
                                                    .mkdir = on_mkdir,
                                                    .unlink = on_unlink,
                                                    .rmdir = on_rmdir,
                                                    .symlink = on_symlink,
                                                    .rename = on_rename,
                                                    .link = on_link,
                                                    .create = on_create,
                                                    .open = on_open,
                                                    .release = on_release,
                                                    .read = on_read,
                                                    .write = on_write,
                                                    .fsync = on_fsync,
                                                    .opendir = on_opendir,
                                                    .ioctl = on_ioctl,
                                                    .readdir = on_readdir,
                                                    .statfs = on_statfs,
                                                    .setxattr = on_setxattr,
                                                    .getxattr = on_getxattr};

static void *serve(void *session) {
  struct fuse_loop_config config = {.clone_fd = 0, .max_idle_threads = 4};
  fuse_session_loop_mt(session, &config);
  return NULL;
}

static struct fuse_session *mount_client(unsigned client, const char *at) {
  char *arguments[] = {"standin", "-o", "allow_other,default_permissions,fsname=standin", NULL};
  struct fuse_args parsed = FUSE_ARGS_INIT(3, arguments);
  struct fuse_session *session =
      fuse_session_new(&parsed, &operations, sizeof operations, (void *)(uintptr_t)client);
  if (!session || fuse_session_mount(session, at) != 0) {
    fprintf(stderr, "standin: cannot mount at %s\n", at);
    exit(1);
  }
  return session;
}

int main(int argc, char **argv) {
  struct fuse_session *session[CLIENTS_MAX];
  pthread_t thread[CLIENTS_MAX];
  unsigned clients = (unsigned)argc - 2;
  if (argc < 3 || clients > CLIENTS_MAX || striping_open(argv[1]) == 0) {
    fprintf(stderr, "usage: standin STORE MOUNT [MOUNT]; STORE holds ost0000, ost0001, ...\n");
    return 2;
  }
  if (getenv("STANDIN_SERVER_US")) {
    server_us = (useconds_t)atoi(getenv("STANDIN_SERVER_US"));
    known_seconds = 1;
  }
  root = tree_make(NULL, S_IFDIR | 0755, getuid(), getgid());
  root->stat.st_ino = ROOT_NUMBER;
  for (unsigned i = 0; i < clients; i++)
    session[i] = mount_client(i, argv[2 + i]);
  if (daemon(1, 1) != 0)
    return 1;
  for (unsigned i = 0; i < clients; i++)
    pthread_create(&thread[i], NULL, serve, session[i]);
  for (unsigned i = 0; i < clients; i++) {
    pthread_join(thread[i], NULL);
    fuse_session_unmount(session[i]);
    fuse_session_destroy(session[i]);
  }
  return 0;
}
