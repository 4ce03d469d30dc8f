#include "tree.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "requests.h"

static ino_t next_number = 1;

struct inode *tree_make(struct inode *parent, mode_t mode, uid_t uid, gid_t gid) {
  struct inode *inode = calloc(1, sizeof *inode);
  bool inherits = parent && parent->stat.st_mode & S_ISGID;
  inode->stat.st_ino = next_number++;
  inode->stat.st_mode = mode | (inherits && S_ISDIR(mode) ? S_ISGID : 0);
  inode->stat.st_uid = uid;
  inode->stat.st_gid = inherits ? parent->stat.st_gid : gid;
  inode->stat.st_nlink = S_ISDIR(mode) ? 2 : 0;
  inode->stat.st_blksize = 1 << 20;
  inode->parent = parent;
  tree_touch(inode, true);
  inode->stat.st_atim = inode->stat.st_mtim;
  return inode;
}

struct inode *tree_find(const struct inode *directory, const char *name) {
  for (struct entry *entry = directory->entries; entry; entry = entry->next)
    if (strcmp(entry->name, name) == 0)
      return entry->inode;
  return NULL;
}

void tree_add(struct inode *directory, const char *name, struct inode *inode) {
  struct entry *entry = malloc(sizeof *entry + strlen(name) + 1);
  strcpy(entry->name, name);
  entry->inode = inode;
  entry->next = directory->entries;
  directory->entries = entry;
  if (S_ISDIR(inode->stat.st_mode))
    inode->parent = directory;
  else
    inode->stat.st_nlink++;
  tree_touch(directory, true);
  requests_changed(directory);
}

struct inode *tree_remove(struct inode *directory, const char *name) {
  for (struct entry **at = &directory->entries; *at; at = &(*at)->next) {
    struct entry *entry = *at;
    if (strcmp(entry->name, name) != 0)
      continue;
    struct inode *inode = entry->inode;
    *at = entry->next;
    free(entry);
    if (S_ISDIR(inode->stat.st_mode))
      inode->stat.st_nlink = 0;
    else
      inode->stat.st_nlink--;
    tree_touch(directory, true);
    tree_touch(inode, false);
    requests_changed(directory);
    return inode;
  }
  return NULL;
}

void tree_settle(struct inode *inode) {
  if (inode->stat.st_nlink || inode->lookups || inode->opens)
    return;
  requests_forget(inode);
  if (inode->layout && S_ISREG(inode->stat.st_mode))
    layout_destroy(inode->layout);
  free(inode->layout);
  free(inode->link);
  free(inode);
}

void tree_touch(struct inode *inode, bool content) {
  clock_gettime(CLOCK_REALTIME, &inode->stat.st_ctim);
  if (content)
    inode->stat.st_mtim = inode->stat.st_ctim;
}
