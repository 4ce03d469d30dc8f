/*
 * ses_create(): the placed create, else the plain one, and the account of it.
 *
 * Does NOT go through the C library's open(): under libses-wrapper.so that
 * would ask the agent a second time, without the policy, and the result could
 * then say "not placed" about a file that was.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "policy.h"
#include "runtime/sys.h"

_Static_assert(sizeof(ses_result) == 256, "the size of a result is part of the ABI");
_Static_assert(sizeof(((ses_result *)0)->element) == SES_ELEMENT_MAX,
               "every element's name fits into a result");

static ses_status reason_for(enum ses_place_status status) {
  switch (status) {
  case SES_PLACE_PLACED:
    return SES_OK;
  case SES_PLACE_EXISTS:
    return SES_NOT_PLACED_EXISTS;
  case SES_PLACE_NOT_MANAGED:
  case SES_PLACE_EXCLUDED: /* from the storage systems that the site describes for this purpose */
    return SES_NOT_PLACED_NOT_MANAGED;
  case SES_PLACE_NO_AGENT:
    return SES_NOT_PLACED_NO_AGENT;
  case SES_PLACE_NO_ANSWER:
    return SES_NOT_PLACED_NO_ANSWER;
  case SES_PLACE_NO_DECISION:
    return SES_NOT_PLACED_NO_DECISION;
  case SES_PLACE_UNSUITED:
    return SES_NOT_PLACED_UNSUITED;
  case SES_PLACE_FAILED:
    return SES_NOT_PLACED_STEP_FAILED;
  }
  return SES_NOT_PLACED_STEP_FAILED;
}

static void account(ses_result *result, const ses_policy *policy, const struct ses_where *where,
                    int placed, int create_errno) {
  memset(result, 0, sizeof *result);
  result->policy_status = policy ? ses_policy_status(policy) : SES_OK;
  result->distance = -1;
  result->create_errno = create_errno;
  if (create_errno) {
    result->reason = SES_CREATE_FAILED;
    return;
  }
  result->reason = reason_for(where->status);
  if (where->status == SES_PLACE_FAILED)
    result->place_errno = where->error;
  if (!placed)
    return;
  result->placed = 1;
  result->chosen_by = where->asked ? SES_CHOSEN_BY_AGENT : SES_CHOSEN_BY_PROGRAM;
  result->placement_id = where->placement_id;
  result->distance = where->distance;
  memcpy(result->element, where->element, sizeof result->element);
  result->element[sizeof result->element - 1] = '\0';
}

int ses_create_at(int dirfd, const char *path, int flags, mode_t mode, const ses_policy *policy,
                  ses_result *result) {
  struct ses_need need;
  struct ses_where where;
  ses_policy_need(policy, &need);
  flags |= O_CREAT;
  int fd = ses_place_open(dirfd, path, flags, mode, &need, &where);
  int placed = fd >= 0 && where.status == SES_PLACE_PLACED;
  if (fd == SES_EXISTS)
    fd = -EEXIST;
  else if (fd < 0)
    fd = ses_sys_openat(dirfd, path, flags, mode);
  if (result)
    account(result, policy, &where, placed, fd < 0 ? -fd : 0);
  if (fd < 0) {
    errno = -fd;
    return -1;
  }
  return fd;
}

int ses_create(const char *path, mode_t mode, const ses_policy *policy, ses_result *result) {
  return ses_create_at(AT_FDCWD, path, O_RDWR | O_TRUNC, mode, policy, result);
}
