#include "operations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "requests.h"
#include "tree.h"

#define LOV "lustre.lov"
#define OBD_STATFS 0xc00866a4u      /* IOC_OBD_STATFS */
#define DELAYED "standin.delayed"   /* of a file: was it created with the delay flag? */
#define REQUESTS "standin.requests" /* of any directory: see requests.h */

struct inode *root;
double known_seconds;

static struct inode *inode_of(fuse_ino_t number) {
  return number == FUSE_ROOT_ID ? root : (struct inode *)(uintptr_t)number;
}

static unsigned client_of(fuse_req_t request) {
  return (unsigned)(uintptr_t)fuse_req_userdata(request);
}

static pid_t caller_of(fuse_req_t request) { return fuse_req_ctx(request)->pid; }

/* The flags of the open that CALLER waits in, as it gave them; -1: they cannot be told. */
static long flags_given(pid_t caller) {
  char path[64];
  char text[256];
  snprintf(path, sizeof path, "/proc/%d/syscall", (int)caller);
  for (int i = 0; i < 10000; i++) { /* it may be on its way to sleep */
    FILE *file = fopen(path, "r");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    long call;
    unsigned long given[3];
    if (file)
      fclose(file);
    text[got] = '\0';
    if (sscanf(text, "%ld %lx %lx %lx", &call, &given[0], &given[1], &given[2]) == 4)
      return call == SYS_openat ? (long)given[2] : call == SYS_open ? (long)given[1] : -1;
    if (strncmp(text, "running", 7) != 0)
      return -1;
    usleep(100);
  }
  return -1;
}

/* Both bits of the delay flag, as llite looks at them.  The kernel shows FUSE only one of them. */
static bool asks_for_delay(fuse_req_t request, const struct fuse_file_info *file) {
  long flags = file->flags & O_ASYNC ? flags_given(caller_of(request)) : 0;
  return file->flags & O_ASYNC && (flags < 0 || flags & O_NOCTTY);
}

static bool is_delayed(const struct fuse_file_info *file) { return file->fh; }

static bool writes(const struct fuse_file_info *file) {
  return (file->flags & O_ACCMODE) != O_RDONLY;
}

static struct fuse_entry_param entry_of(struct inode *inode) {
  inode->lookups++;
  return (struct fuse_entry_param){
      .ino = (fuse_ino_t)(uintptr_t)inode, .attr = inode->stat, .attr_timeout = known_seconds};
}

static void reply_entry(fuse_req_t request, struct inode *inode) {
  struct fuse_entry_param entry = entry_of(inode);
  fuse_reply_entry(request, &entry);
}

/* The default that holds in DIRECTORY: its own, what that leaves open from the root's, and the rest
 * from the file system. */
static void inherit(const struct inode *directory, struct layout *layout, bool append) {
  const struct layout *own = directory->layout ? directory->layout : root->layout;
  layout_default(layout);
  if (!own || append) /* append_stripe_count: 1, and no composite layout */
    return;
  *layout = *own;
  if (root->layout)
    layout_complete(layout, root->layout);
}

/* For CLIENT, which therefore knows the layout; one that has the file open without objects does not
 * hear of it before it asks the server. */
static int give_objects(struct inode *inode, const struct layout *wanted, unsigned client) {
  struct layout *layout = malloc(sizeof *layout);
  *layout = *wanted;
  int failed = layout_allocate(layout);
  if (failed) {
    free(layout);
    return failed;
  }
  inode->layout = layout;
  for (unsigned i = 0; i < CLIENTS_MAX; i++)
    inode->unaware[i] = i != client && inode->delayed[i] > 0;
  return 0;
}

/* An open for writing that does not delay; handles on one client are shared. */
static int open_for_writing(struct inode *inode, const struct inode *directory, unsigned client,
                            bool append) {
  struct layout layout;
  if (inode->layout || inode->delayed[client])
    return 0;
  inherit(directory, &layout, append);
  return give_objects(inode, &layout, client);
}

void do_lookup(fuse_req_t request, fuse_ino_t parent, const char *name) {
  struct inode *inode = tree_find(inode_of(parent), name);
  requests_lookup(caller_of(request), client_of(request), inode_of(parent), inode);
  if (inode)
    reply_entry(request, inode);
  else
    fuse_reply_err(request, ENOENT);
}

void do_forget(fuse_req_t request, fuse_ino_t number, uint64_t lookups) {
  struct inode *inode = inode_of(number);
  if (inode != root) {
    inode->lookups -= lookups;
    tree_settle(inode);
  }
  fuse_reply_none(request);
}

void do_getattr(fuse_req_t request, fuse_ino_t number) {
  fuse_reply_attr(request, &inode_of(number)->stat, known_seconds);
}

void do_setattr(fuse_req_t request, fuse_ino_t number, struct stat *to, int set) {
  struct inode *inode = inode_of(number);
  if (set & FUSE_SET_ATTR_MODE)
    inode->stat.st_mode = (inode->stat.st_mode & S_IFMT) | (to->st_mode & 07777);
  if (set & FUSE_SET_ATTR_UID)
    inode->stat.st_uid = to->st_uid;
  if (set & FUSE_SET_ATTR_GID)
    inode->stat.st_gid = to->st_gid;
  if (set & FUSE_SET_ATTR_SIZE)
    inode->stat.st_size = to->st_size;
  tree_touch(inode, set & FUSE_SET_ATTR_SIZE);
  if (set & FUSE_SET_ATTR_ATIME && !(set & FUSE_SET_ATTR_ATIME_NOW))
    inode->stat.st_atim = to->st_atim;
  if (set & FUSE_SET_ATTR_MTIME && !(set & FUSE_SET_ATTR_MTIME_NOW))
    inode->stat.st_mtim = to->st_mtim;
  if (set & (FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW))
    inode->stat.st_atim = inode->stat.st_mtim = inode->stat.st_ctim;
  fuse_reply_attr(request, &inode->stat, known_seconds);
}

/* What has no name yet, or NULL and the request is answered. */
static struct inode *make(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode) {
  struct inode *directory = inode_of(parent);
  const struct fuse_ctx *context = fuse_req_ctx(request);
  requests_count(context->pid, directory, 1, 0);
  if (directory->stat.st_nlink == 0 || tree_find(directory, name)) {
    fuse_reply_err(request, directory->stat.st_nlink ? EEXIST : ENOENT);
    return NULL;
  }
  return tree_make(directory, mode, context->uid, context->gid);
}

void do_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode) {
  struct inode *inode = make(request, parent, name, mode);
  if (!inode)
    return;
  tree_add(inode_of(parent), name, inode);
  if (!S_ISDIR(mode))
    inode->parent = inode_of(parent);
  else if (inode_of(parent) != root && inode_of(parent)->layout) {
    inode->layout = malloc(sizeof *inode->layout);
    *inode->layout = *inode_of(parent)->layout;
  }
  reply_entry(request, inode);
}

void do_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name) {
  struct inode *inode = make(request, parent, name, S_IFLNK | 0777);
  if (!inode)
    return;
  inode->link = strdup(target);
  inode->stat.st_size = (off_t)strlen(target);
  tree_add(inode_of(parent), name, inode);
  reply_entry(request, inode);
}

void do_readlink(fuse_req_t request, fuse_ino_t number) {
  fuse_reply_readlink(request, inode_of(number)->link);
}

void do_unlink(fuse_req_t request, fuse_ino_t parent, const char *name) {
  requests_count(caller_of(request), tree_find(inode_of(parent), name), 1, 0);
  struct inode *inode = tree_remove(inode_of(parent), name);
  fuse_reply_err(request, inode ? 0 : ENOENT);
  if (inode)
    tree_settle(inode);
}

void do_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name) {
  struct inode *inode = tree_find(inode_of(parent), name);
  if (!inode || inode->entries)
    fuse_reply_err(request, inode ? ENOTEMPTY : ENOENT);
  else
    do_unlink(request, parent, name);
}

void do_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t to,
               const char *to_name, unsigned flags) {
  struct inode *inode = tree_find(inode_of(parent), name);
  if (!inode || flags) {
    fuse_reply_err(request, inode ? EINVAL : ENOENT);
    return;
  }
  struct inode *replaced = tree_find(inode_of(to), to_name);
  if (replaced == inode) {
    fuse_reply_err(request, 0);
    return;
  }
  inode->lookups++; /* hold both while neither has a name */
  if (replaced)
    tree_remove(inode_of(to), to_name);
  tree_remove(inode_of(parent), name);
  if (S_ISDIR(inode->stat.st_mode))
    inode->stat.st_nlink = 2;
  tree_add(inode_of(to), to_name, inode);
  inode->lookups--;
  if (replaced)
    tree_settle(replaced);
  fuse_reply_err(request, 0);
}

void do_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char *name) {
  struct inode *inode = inode_of(number);
  if (tree_find(inode_of(parent), name)) {
    fuse_reply_err(request, EEXIST);
    return;
  }
  tree_add(inode_of(parent), name, inode);
  reply_entry(request, inode);
}

static int opened(struct inode *inode, const struct inode *directory, unsigned client,
                  struct fuse_file_info *file) {
  int failed = 0;
  inode->unaware[client] = false;
  inode->looked_at[client] = true;
  if (file->flags & O_TRUNC)
    inode->stat.st_size = 0;
  if (writes(file) && is_delayed(file))
    inode->delayed[client]++;
  else if (writes(file))
    failed = open_for_writing(inode, directory, client, file->flags & O_APPEND);
  if (!failed)
    inode->opens++;
  file->direct_io = 1;
  return -failed;
}

void do_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
               struct fuse_file_info *file) {
  struct inode *inode = make(request, parent, name, mode);
  if (!inode)
    return;
  file->fh = inode->was_delayed = asks_for_delay(request, file);
  int failed = opened(inode, inode_of(parent), client_of(request), file);
  if (failed) {
    tree_settle(inode);
    fuse_reply_err(request, failed);
    return;
  }
  requests_count(caller_of(request), inode_of(parent), 0, 1);
  tree_add(inode_of(parent), name, inode);
  struct fuse_entry_param entry = entry_of(inode);
  fuse_reply_create(request, &entry, file);
}

void do_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
  struct inode *inode = inode_of(number);
  requests_count(caller_of(request), inode, 1, 1);
  file->fh = asks_for_delay(request, file);
  /* An unlinked file without an open handle is gone on the server. */
  int failed = inode->stat.st_nlink == 0 && inode->opens == 0
                   ? ESTALE
                   : opened(inode, inode->parent, client_of(request), file);
  if (failed)
    fuse_reply_err(request, failed);
  else
    fuse_reply_open(request, file);
}

void do_release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
  struct inode *inode = inode_of(number);
  if (writes(file) && is_delayed(file))
    inode->delayed[client_of(request)]--;
  inode->opens--;
  fuse_reply_err(request, 0);
  tree_settle(inode);
}

void do_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset) {
  struct inode *inode = inode_of(number);
  char *bytes = malloc(size + 1);
  size_t total = 0;
  ssize_t got = 1;
  if (offset > inode->stat.st_size)
    size = 0;
  else if ((off_t)size > inode->stat.st_size - offset)
    size = (size_t)(inode->stat.st_size - offset);
  if (!inode->layout) /* truncated to a size, but never written */
    memset(bytes, 0, total = size);
  while (got > 0 && total < size) {
    got = layout_read(inode->layout, bytes + total, size - total, (uint64_t)offset + total);
    total += got > 0 ? (size_t)got : 0;
  }
  if (got < 0)
    fuse_reply_err(request, (int)-got);
  else
    fuse_reply_buf(request, bytes, total);
  free(bytes);
}

void do_write(fuse_req_t request, fuse_ino_t number, const char *bytes, size_t size, off_t offset,
              struct fuse_file_info *file) {
  struct inode *inode = inode_of(number);
  size_t total = 0;
  ssize_t put = 1;
  if (file->flags & O_APPEND)
    offset = inode->stat.st_size;
  inode->unaware[client_of(request)] = false;
  if (!inode->layout)
    put = -EBADF;
  while (put > 0 && total < size) {
    put = layout_write(inode->layout, bytes + total, size - total, (uint64_t)offset + total);
    total += put > 0 ? (size_t)put : 0;
  }
  if (put < 0 && total == 0) {
    fuse_reply_err(request, (int)-put);
    return;
  }
  if (offset + (off_t)total > inode->stat.st_size)
    inode->stat.st_size = offset + (off_t)total;
  tree_touch(inode, true);
  fuse_reply_write(request, total);
}

void do_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
  requests_count(caller_of(request), inode_of(number), 1, 1);
  fuse_reply_open(request, file);
}

/* Of a question to an OST's server the kernel shows FUSE that there is one, not which OST; and says
 * back that all is well with it. */
void do_ioctl(fuse_req_t request, unsigned command) {
  char nothing[8] = {0};
  if (command != OBD_STATFS) {
    fuse_reply_err(request, ENOTTY);
    return;
  }
  requests_statfs();
  fuse_reply_ioctl(request, 0, nothing, sizeof nothing);
}

void do_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset) {
  struct inode *directory = inode_of(number);
  char *bytes = malloc(size);
  size_t used = 0;
  off_t at = 0;
  const struct entry *entry = directory->entries;
  for (bool more = true; more; at++) {
    const char *name = at == 0 ? "." : at == 1 ? ".." : entry ? entry->name : NULL;
    const struct inode *inode = at < 2 || !entry ? directory : entry->inode;
    if (!name)
      break;
    if (at >= offset) {
      size_t room =
          fuse_add_direntry(request, bytes + used, size - used, name, &inode->stat, at + 1);
      more = room <= size - used;
      used += more ? room : 0;
    }
    if (at >= 2)
      entry = entry->next;
  }
  fuse_reply_buf(request, bytes, used);
  free(bytes);
}

static int set_directory_default(struct inode *directory, const struct layout *layout) {
  free(directory->layout);
  directory->layout = NULL;
  if (!layout_is_all_default(layout)) {
    directory->layout = malloc(sizeof *layout);
    *directory->layout = *layout;
  }
  return 0;
}

void do_setxattr(fuse_req_t request, fuse_ino_t number, const char *name, const char *value,
                 size_t size) {
  struct inode *inode = inode_of(number);
  struct layout layout;
  int failed = EOPNOTSUPP;
  requests_count(caller_of(request), inode, 1, S_ISREG(inode->stat.st_mode));
  inode->looked_at[client_of(request)] = false;
  if (strcmp(name, LOV) == 0) {
    failed = -layout_parse(&layout, value, size);
    if (!failed && S_ISDIR(inode->stat.st_mode))
      failed = set_directory_default(inode, &layout);
    else if (!failed && inode->stat.st_nlink == 0)
      failed = ESTALE;
    else if (!failed && !inode->layout) /* else: success, and nothing happens */
      failed = -give_objects(inode, &layout, client_of(request));
  }
  fuse_reply_err(request, failed);
}

void do_getxattr(fuse_req_t request, fuse_ino_t number, const char *name, size_t size) {
  struct inode *inode = inode_of(number);
  const struct layout *layout = inode->layout;
  char bytes[65536];
  if (strcmp(name, REQUESTS) == 0 && size > 0) {
    fuse_reply_buf(request, bytes, requests_text(bytes, size < 64 ? size : 64));
    return;
  }
  if (strcmp(name, DELAYED) == 0 && size > 0) {
    fuse_reply_buf(request, inode->was_delayed ? "1" : "0", 1);
    return;
  }
  if (strcmp(name, LOV) != 0) {
    fuse_reply_err(request, ENODATA);
    return;
  }
  requests_count(caller_of(request), inode, S_ISDIR(inode->stat.st_mode), 0);
  if (S_ISDIR(inode->stat.st_mode) && !layout)
    layout = root->layout;
  else if (inode->unaware[client_of(request)]) /* the client answers by what it has: no layout */
    layout = NULL;
  ssize_t length = layout ? layout_encode(layout, bytes, sizeof bytes) : -ENODATA;
  if (length < 0 || (size && size < (size_t)length))
    fuse_reply_err(request, length < 0 ? (int)-length : ERANGE);
  else if (size == 0)
    fuse_reply_xattr(request, (size_t)length);
  else
    fuse_reply_buf(request, bytes, (size_t)length);
}
