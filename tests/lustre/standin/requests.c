#include "requests.h"

#include <stdio.h>

#define CALLERS 64

/* A lookup that may have been for itself. */
static struct waiting {
  pid_t caller; /* 0: free */
  unsigned client;
  struct inode *directory;
  struct inode *inode; /* NULL: there was none */
} waiting[CALLERS];

static unsigned long enqueues;
static unsigned long closes;
static unsigned long statfs;

static struct waiting *waiting_of(pid_t caller) {
  for (int i = 0; i < CALLERS; i++)
    if (waiting[i].caller == caller)
      return &waiting[i];
  return NULL;
}

/* It was a look. */
static void settle(struct waiting *waiting) {
  if (!waiting->inode || !waiting->inode->looked_at[waiting->client])
    enqueues++;
  if (waiting->inode)
    waiting->inode->looked_at[waiting->client] = true;
  waiting->caller = 0;
}

/* What CALLER looked up last was for something in or on INODE, or else for itself. */
static void follow_up(pid_t caller, const struct inode *inode) {
  struct waiting *waiting = waiting_of(caller);
  if (!waiting)
    return;
  if (inode == waiting->inode || (!waiting->inode && inode == waiting->directory))
    waiting->caller = 0;
  else
    settle(waiting);
}

void requests_lookup(pid_t caller, unsigned client, struct inode *directory, struct inode *inode) {
  follow_up(caller, directory);
  struct waiting *waiting = waiting_of(0);
  if (waiting)
    *waiting = (struct waiting){caller, client, directory, inode};
}

void requests_count(pid_t caller, const struct inode *inode, unsigned more, unsigned more_closes) {
  follow_up(caller, inode);
  enqueues += more;
  closes += more_closes;
}

void requests_changed(struct inode *directory) {
  for (int i = 0; i < CLIENTS_MAX; i++)
    directory->looked_at[i] = false;
}

void requests_forget(const struct inode *inode) {
  for (int i = 0; i < CALLERS; i++)
    if (waiting[i].caller && (waiting[i].inode == inode || waiting[i].directory == inode))
      settle(&waiting[i]);
}

void requests_statfs(void) { statfs++; }

size_t requests_text(char *into, size_t size) {
  for (int i = 0; i < CALLERS; i++)
    if (waiting[i].caller)
      settle(&waiting[i]);
  return (size_t)snprintf(into, size, "%lu %lu %lu", enqueues, closes, statfs);
}
