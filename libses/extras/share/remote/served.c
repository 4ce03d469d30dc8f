#include "remote/served.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "system/clock.h"

#define HOSTS 4096 /* those of one hash count as one host */
#define FIRM_NS 1000000000ull

enum stage { FREE, UNPROVEN, PROVEN, KILLED };

static struct served {
  enum stage stage;
  pid_t process;
  uid_t user;
  uint64_t begun_ns;
  unsigned host;
} all[3 * SES_SERVED_MAX]; /* there is a place for those that are killed, until they are gone */

static int limit;

static unsigned hash_of(const char *host) {
  unsigned hash = 2166136261u; /* FNV-1a */
  for (; *host; host++)
    hash = (hash ^ (unsigned char)*host) * 16777619u;
  return hash % HOSTS;
}

static struct served *find(pid_t process) {
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i].stage != FREE && all[i].process == process)
      return &all[i];
  return NULL;
}

static struct served *find_free(void) {
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i].stage == FREE)
      return &all[i];
  return NULL;
}

static int count(enum stage stage) {
  int number = 0;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    number += all[i].stage == stage;
  return number;
}

static void end(struct served *session) {
  kill(session->process, SIGKILL);
  session->stage = KILLED;
}

/* The oldest from the host with most that have proven nothing; NULL: there is none. */
static struct served *first_to_go(void) {
  static int from[HOSTS];
  struct served *first = NULL;
  memset(from, 0, sizeof from);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    from[all[i].host] += all[i].stage == UNPROVEN;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    struct served *session = &all[i];
    if (session->stage == UNPROVEN &&
        (!first || from[session->host] > from[first->host] ||
         (from[session->host] == from[first->host] && session->begun_ns < first->begun_ns)))
      first = session;
  }
  return first;
}

void ses_served_limit(int sessions) { limit = sessions; }

bool ses_served_room(const char *host) {
  if (count(PROVEN) >= limit || !find_free()) {
    fprintf(stderr, "ses-share-agent: no session: %d are served\n", count(PROVEN));
    return false;
  }
  if (count(UNPROVEN) < limit)
    return true;
  struct served *session = first_to_go();
  if (!session || (session->host == hash_of(host) && ses_now_ns() - session->begun_ns < FIRM_NS)) {
    fprintf(stderr, "ses-share-agent: no session: %d at once prove nothing, most from %s\n", limit,
            host);
    return false;
  }
  end(session);
  return true;
}

void ses_served_begins(pid_t process, const char *host) {
  struct served *place = find_free();
  if (place)
    *place = (struct served){UNPROVEN, process, 0, ses_now_ns(), hash_of(host)};
}

void ses_served_proven(pid_t process, uid_t user) {
  struct served *session = find(process);
  int others = 0;
  if (!session || session->stage != UNPROVEN)
    return;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    others += all[i].stage == PROVEN && all[i].user == user;
  int served = count(PROVEN);
  session->stage = PROVEN;
  session->user = user;
  if (others >= limit / 4)
    fprintf(stderr, "ses-share-agent: no session: uid %u has %d\n", (unsigned)user, others);
  else if (served >= limit)
    fprintf(stderr, "ses-share-agent: no session: %d are served\n", served);
  else
    return;
  end(session);
}

void ses_served_ended(pid_t process) {
  struct served *session = find(process);
  if (session)
    *session = (struct served){0};
}
