/*
 * What the stand-in answers to each request of the kernel.  The caller holds
 * the lock.
 */
#ifndef STANDIN_OPERATIONS_H
#define STANDIN_OPERATIONS_H

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>

struct inode;
extern struct inode *root;
/* How long a client goes on with attributes it has seen. */
extern double known_seconds;

void do_lookup(fuse_req_t request, fuse_ino_t parent, const char *name);
void do_forget(fuse_req_t request, fuse_ino_t number, uint64_t lookups);
void do_getattr(fuse_req_t request, fuse_ino_t number);
void do_setattr(fuse_req_t request, fuse_ino_t number, struct stat *to, int set);
void do_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode);
void do_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name);
void do_readlink(fuse_req_t request, fuse_ino_t number);
void do_unlink(fuse_req_t request, fuse_ino_t parent, const char *name);
void do_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name);
void do_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t to,
               const char *to_name, unsigned flags);
void do_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char *name);
void do_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
               struct fuse_file_info *file);
void do_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file);
void do_release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file);
void do_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset);
void do_write(fuse_req_t request, fuse_ino_t number, const char *bytes, size_t size, off_t offset,
              struct fuse_file_info *file);
void do_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file);
void do_ioctl(fuse_req_t request, unsigned command);
void do_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset);
void do_setxattr(fuse_req_t request, fuse_ino_t number, const char *name, const char *value,
                 size_t size);
void do_getxattr(fuse_req_t request, fuse_ino_t number, const char *name, size_t size);

#endif
