#include "far/proof.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

void ses_far_about(enum ses_far_side side, const uint8_t number[SES_FAR_NUMBER],
                   const struct ses_tcp_address *agent, char about[SES_FAR_ABOUT]) {
  char digits[2 * SES_FAR_NUMBER + 1];
  for (unsigned i = 0; i < SES_FAR_NUMBER; i++)
    snprintf(digits + 2 * i, 3, "%02x", number[i]);
  snprintf(about, SES_FAR_ABOUT, "ses-share %u %s %s at %s %s", SES_FAR_VERSION,
           side == SES_FAR_AGENT ? "agent" : "process", digits, agent->host, agent->port);
}

int ses_far_random(uint8_t number[SES_FAR_NUMBER]) {
  return getrandom(number, SES_FAR_NUMBER, 0) == SES_FAR_NUMBER ? 0 : EIO;
}
