#include "offer.h"

#include <stdio.h>

#include "ses/ses.h"
#include "settings/require.h"

static void state(ses_policy *policy, const struct ses_wire_requirement *requirement, bool hard) {
  static ses_status (*const setters[])(ses_policy *, double) = {
      [SES_CURRENT_READ_RATE] = ses_policy_set_current_read_rate,
      [SES_AVERAGE_READ_RATE] = ses_policy_set_average_read_rate,
      [SES_CURRENT_WRITE_RATE] = ses_policy_set_current_write_rate,
      [SES_AVERAGE_WRITE_RATE] = ses_policy_set_average_write_rate,
      [SES_FREE_CAPACITY] = ses_policy_set_capacity,
  };
  ses_requirement_kind kind = (ses_requirement_kind)requirement->kind;
  setters[kind](policy, requirement->minimum);
  ses_policy_set_weight(policy, kind, requirement->weight);
  ses_policy_set_hard(policy, kind, hard && requirement->hard);
}

/* As ses_find_nodes(): the best node, with the hard requirements as they are, or as soft ones. */
static int best(const struct ses_wire_requirement *stated, int count, bool hard, ses_node *node) {
  ses_policy *policy = ses_policy_new();
  int node_count = -1;
  if (!policy)
    return -1;
  for (int i = 0; i < count; i++)
    state(policy, &stated[i], hard);
  if (ses_policy_status(policy) == SES_OK)
    node_count = ses_find_nodes(policy, NULL, 1, node, 1);
  ses_policy_free(policy);
  return node_count;
}

bool ses_offer_exists(const char *text, char *why, size_t size) {
  struct ses_wire_requirement stated[SES_REQUIRE_KINDS];
  const char *wrong = NULL;
  ses_node node;
  bool is_hard = false;
  int count = ses_require_parse(text, stated, &wrong);
  for (int i = 0; i < count; i++)
    is_hard = is_hard || stated[i].hard;
  if (!is_hard || best(stated, count, true, &node) != 0 || best(stated, count, false, &node) != 1)
    return true;
  char rates[96] = "";
  if (node.read_mb_s >= 0 && node.write_mb_s >= 0)
    snprintf(rates, sizeof rates, ", where a stream would write %.0f and read %.0f MB/s",
             node.write_mb_s, node.read_mb_s);
  snprintf(why, size, "can be met by no node now; the nearest is %s%s, by %s (see ses nodes rank)",
           node.name, rates, node.element);
  return false;
}
