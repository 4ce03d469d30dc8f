/*
 * How many requests a Lustre client would send to the metadata server, counted from what FUSE is
 * asked.  By what was counted on a 2.17.0 (100 creates: 100 enqueues and closes; with the delay
 * flag and a layout set: 200 of each; with a look at the directory by its path before it, or at the
 * file by its path after it: 300 and 200):
 *
 *   - an enqueue: an open (of a directory, too), a create, a layout that is set; a look (stat) at a
 *     name, but for one whose lock this client has had since it last looked at it or opened it; it
 *     loses the lock by setting the layout;
 *   - a close: of each of these but the look;
 *   - an OST_STATFS: IOC_OBD_STATFS;
 *   - nothing: a directory on the way to something else; a descriptor that is looked at; a file's
 *     layout, which the client has.
 *
 * A create takes the directory's lock from all clients.  FUSE looks up each name of a path, so a
 * look at a name is a lookup that the same thread follows up with nothing in or on what was found.
 */
#ifndef STANDIN_REQUESTS_H
#define STANDIN_REQUESTS_H

#include <stddef.h>
#include <sys/types.h>

#include "tree.h"

/* CALLER has looked up a name in DIRECTORY; INODE: what it found, or NULL. */
void requests_lookup(pid_t caller, unsigned client, struct inode *directory, struct inode *inode);
/* CALLER does something in or on INODE, for so many enqueues and closes. */
void requests_count(pid_t caller, const struct inode *inode, unsigned enqueues, unsigned closes);
/* A name in DIRECTORY was made or removed. */
void requests_changed(struct inode *directory);
/* INODE is freed. */
void requests_forget(const struct inode *inode);
/* IOC_OBD_STATFS: the server of an OST is asked. */
void requests_statfs(void);
/* "ENQUEUES CLOSES STATFS" until now. */
size_t requests_text(char *into, size_t size);

#endif
