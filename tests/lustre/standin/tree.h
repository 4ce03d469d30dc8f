/*
 * The names and attributes of the stand-in: an inode tree in memory, one lock
 * for all of it.
 */
#ifndef STANDIN_TREE_H
#define STANDIN_TREE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "striping.h"

#define CLIENTS_MAX 2
#define ROOT_NUMBER 0x200000007000001u /* of every Lustre: [0x200000007:0x1:0x0] */

struct entry {
  struct entry *next;
  struct inode *inode;
  char name[];
};

struct inode {
  struct stat stat;
  unsigned long lookups; /* the kernels' references */
  unsigned opens;
  unsigned delayed[CLIENTS_MAX]; /* writers that opened with the delay flag, by client */
  bool was_delayed;              /* created with the delay flag */
  bool looked_at[CLIENTS_MAX];   /* its lock is this client's; see requests.h */
  bool unaware[CLIENTS_MAX];     /* this client has not heard of the layout; see do_getxattr() */
  struct inode *parent;          /* of a directory */
  struct entry *entries;         /* of a directory */
  char *link;                    /* of a symbolic link */
  struct layout *layout;         /* a file's, or the default of a directory; NULL: none */
};

struct inode *tree_make(struct inode *parent, mode_t mode, uid_t uid, gid_t gid);
struct inode *tree_find(const struct inode *directory, const char *name);
void tree_add(struct inode *directory, const char *name, struct inode *inode);
/* The inode that had the name, one link poorer. */
struct inode *tree_remove(struct inode *directory, const char *name);
/* Free INODE if nothing refers to it any more. */
void tree_settle(struct inode *inode);
void tree_touch(struct inode *inode, bool content);

#endif
