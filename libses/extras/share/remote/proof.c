#include "remote/proof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "system/munge.h"

#define ABOUT 384

static const char *munged(void) { return secure_getenv("SES_MUNGE_SOCKET"); }

static void say(enum ses_remote_side side, const uint8_t *number,
                const struct ses_tcp_address *agent, char about[ABOUT]) {
  char digits[2 * SES_REMOTE_NUMBER + 1];
  for (unsigned i = 0; i < SES_REMOTE_NUMBER; i++)
    snprintf(digits + 2 * i, 3, "%02x", number[i]);
  snprintf(about, ABOUT, "ses-share %u %s %s at %s %s", SES_REMOTE_VERSION,
           side == SES_REMOTE_AGENT ? "agent" : "process", digits, agent->host, agent->port);
}

int ses_remote_prove(enum ses_remote_side side, const uint8_t number[SES_REMOTE_NUMBER],
                     const struct ses_tcp_address *agent, struct ses_remote_proof *proof) {
  char about[ABOUT];
  say(side, number, agent, about);
  return ses_munge_make(munged(), about, proof->credential, sizeof proof->credential, NULL);
}

int ses_remote_believe(enum ses_remote_side side, const uint8_t number[SES_REMOTE_NUMBER],
                       const struct ses_tcp_address *agent, const struct ses_remote_proof *proof,
                       uid_t *user, gid_t *group) {
  char about[ABOUT];
  if (!memchr(proof->credential, '\0', sizeof proof->credential))
    return EACCES;
  say(side, number, agent, about);
  return ses_munge_check(munged(), proof->credential, about, user, group);
}

int ses_remote_random(uint8_t number[SES_REMOTE_NUMBER]) {
  return getrandom(number, SES_REMOTE_NUMBER, 0) == SES_REMOTE_NUMBER ? 0 : EIO;
}
