#include "ses/segment.h"

#include <stddef.h>
#include <sys/shm.h>

#include "runtime/sys.h"

#define PERMISSIONS 0777u
#define TRIES 100 /* against somebody who makes another one again and again */

int ses_segment_find(int32_t key) { return (int)ses_sys3(SYS_shmget, key, 0, 0); }

int ses_segment_make(int32_t key, uint64_t size, uint32_t mode) {
  return (int)ses_sys3(SYS_shmget, key, (long)size, (long)(IPC_CREAT | IPC_EXCL | mode));
}

int ses_segment_give(int id, uint32_t owner, uint32_t group, uint32_t mode) {
  struct shmid_ds seen;
  long status = ses_sys3(SYS_shmctl, id, IPC_STAT, ses_address(&seen));
  if (status != 0)
    return (int)status;
  seen.shm_perm.uid = owner;
  seen.shm_perm.gid = group;
  seen.shm_perm.mode = (unsigned short)mode;
  return (int)ses_sys3(SYS_shmctl, id, IPC_SET, ses_address(&seen));
}

int ses_segment_remove(int id) { return (int)ses_sys3(SYS_shmctl, id, IPC_RMID, 0); }

int ses_segment_look(int id, struct ses_segment_facts *facts) {
  struct shmid_ds seen;
  long status = ses_sys3(SYS_shmctl, id, IPC_STAT, ses_address(&seen));
  if (status != 0)
    return (int)status;
  *facts = (struct ses_segment_facts){
      .process = seen.shm_cpid,
      .maker = seen.shm_perm.cuid,
      .owner = seen.shm_perm.uid,
      .group = seen.shm_perm.gid,
      .mode = seen.shm_perm.mode & PERMISSIONS,
      .size = seen.shm_segsz,
      .attached = seen.shm_nattch,
      .keyed = seen.shm_perm.__key != IPC_PRIVATE,
      .removed = (seen.shm_perm.mode & SHM_DEST) != 0,
  };
  return 0;
}

bool ses_segment_follows(const struct ses_segment_facts *facts,
                         const struct ses_segment_rule *rule) {
  uint32_t owner = rule->owner == SES_SEGMENT_ITS_MAKER ? facts->maker : rule->owner;
  return (facts->maker == rule->maker || facts->maker == rule->or_maker) && facts->owner == owner &&
         (rule->mode == SES_SEGMENT_ANY_MODE || facts->mode == rule->mode) &&
         (rule->size == 0 || facts->size == rule->size);
}

static int check(int id, const struct ses_segment_rule *rule, struct ses_segment_facts *facts) {
  int status = ses_segment_look(id, facts);
  return status != 0 ? status : ses_segment_follows(facts, rule) ? 0 : -EPERM;
}

int ses_segment_attach(int id, const struct ses_segment_rule *rule, bool writing,
                       struct ses_segment_facts *facts, void **at) {
  int status = check(id, rule, facts);
  if (status != 0)
    return status;
  long address = ses_sys3(SYS_shmat, id, 0, writing ? 0 : SHM_RDONLY);
  if (address < 0 && address > -4096)
    return (int)address;
  *at = (void *)(intptr_t)address;
  status = check(id, rule, facts);
  if (status != 0)
    ses_segment_detach(*at);
  return status;
}

void ses_segment_detach(const void *at) { ses_sys2(SYS_shmdt, ses_address(at), 0); }

int ses_segment_publish(int32_t key, const struct ses_segment_rule *rule, bool *left, void **at) {
  struct ses_segment_facts facts;
  for (int i = 0; i < TRIES; i++) {
    int id = ses_segment_make(key, rule->size, rule->mode);
    *left = id == -EEXIST;
    if (*left)
      id = ses_segment_find(key); /* root may find any; another user only what is readable */
    if (id == -ENOENT)
      continue;
    if (id < 0)
      return *left ? -EEXIST : id;
    int status = ses_segment_attach(id, rule, true, &facts, at);
    if (status == 0)
      return id;
    if (ses_segment_remove(id) != 0 && *left)
      return -EEXIST;
    if (!*left)
      return status;
  }
  return -EEXIST;
}
