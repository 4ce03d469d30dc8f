#include "directory.h"

#include "clock.h"
#include "recall.h"

#define REMEMBERED_MS 10u

static struct ses_recall recall;

static uint64_t key_of(unsigned major, unsigned minor, uint64_t inode) {
  return ses_recall_mix(ses_recall_mix((uint64_t)major << 32 | minor) ^ inode);
}

bool ses_directory_suits(unsigned major, unsigned minor, uint64_t inode) {
  uint64_t until = 0;
  return ses_recall_get(&recall, key_of(major, minor, inode), &until) && ses_clock_ms() < until;
}

void ses_directory_remember(unsigned major, unsigned minor, uint64_t inode) {
  ses_recall_put(&recall, key_of(major, minor, inode), ses_clock_ms() + REMEMBERED_MS);
}
