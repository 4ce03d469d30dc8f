/*
 * Policies: plain memory and the checks that keep a value nobody can meet or
 * measure (a NaN, a negative rate) from ever being sent to the agent.
 *
 * Does NOT know any element or storage system: whether a pool exists, or a
 * rate can be had, is the service's to say.
 */
#include "policy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)SES_CURRENT_READ_RATE == (int)SES_KIND_CURRENT_READ_RATE &&
                   (int)SES_AVERAGE_READ_RATE == (int)SES_KIND_AVERAGE_READ_RATE &&
                   (int)SES_CURRENT_WRITE_RATE == (int)SES_KIND_CURRENT_WRITE_RATE &&
                   (int)SES_AVERAGE_WRITE_RATE == (int)SES_KIND_AVERAGE_WRITE_RATE &&
                   (int)SES_FREE_CAPACITY == (int)SES_KIND_FREE_CAPACITY,
               "kinds have the same numbers in the interface and on the socket");
_Static_assert(SES_FREE_CAPACITY <= SES_REQUIREMENTS_MAX, "every kind fits into one question");

static const struct ses_minimum unstated = {.weight = 1.0};

ses_policy *ses_policy_new(void) {
  ses_policy *policy = calloc(1, sizeof *policy);
  if (!policy)
    return NULL;
  for (int kind = SES_CURRENT_READ_RATE; kind <= SES_FREE_CAPACITY; kind++)
    policy->minimums[kind] = unstated;
  policy->expected_bytes = -1;
  return policy;
}

ses_policy *ses_policy_copy(const ses_policy *policy) {
  if (!policy) {
    errno = EINVAL;
    return NULL;
  }
  ses_policy *copy = malloc(sizeof *copy);
  if (copy)
    *copy = *policy;
  return copy;
}

void ses_policy_free(ses_policy *policy) { free(policy); }

ses_status ses_policy_status(const ses_policy *policy) {
  return policy ? policy->first_refusal : SES_REFUSED_NO_POLICY;
}

static ses_status refuse(ses_policy *policy, ses_status status) {
  if (policy->first_refusal == SES_OK)
    policy->first_refusal = status;
  return status;
}

static bool is_kind(ses_requirement_kind kind) {
  return (int)kind >= SES_CURRENT_READ_RATE && (int)kind <= SES_FREE_CAPACITY;
}

/* Shared by minimums and weights, which differ in whether 0 will do. */
static ses_status judge(double value, double largest) {
  if (!isfinite(value))
    return SES_REFUSED_NOT_FINITE;
  if (value < 0)
    return SES_REFUSED_NEGATIVE;
  return value > largest ? SES_REFUSED_TOO_LARGE : SES_OK;
}

static ses_status set_minimum(ses_policy *policy, ses_requirement_kind kind, double minimum,
                              double largest) {
  if (!policy)
    return SES_REFUSED_NO_POLICY;
  ses_status status = judge(minimum, largest);
  if (status != SES_OK)
    return refuse(policy, status);
  policy->minimums[kind].stated = true;
  policy->minimums[kind].minimum = minimum + 0.0; /* -0.0 becomes 0.0 */
  return SES_OK;
}

ses_status ses_policy_set_current_read_rate(ses_policy *policy, double mb_per_s) {
  return set_minimum(policy, SES_CURRENT_READ_RATE, mb_per_s, SES_RATE_MAX);
}

ses_status ses_policy_set_average_read_rate(ses_policy *policy, double mb_per_s) {
  return set_minimum(policy, SES_AVERAGE_READ_RATE, mb_per_s, SES_RATE_MAX);
}

ses_status ses_policy_set_current_write_rate(ses_policy *policy, double mb_per_s) {
  return set_minimum(policy, SES_CURRENT_WRITE_RATE, mb_per_s, SES_RATE_MAX);
}

ses_status ses_policy_set_average_write_rate(ses_policy *policy, double mb_per_s) {
  return set_minimum(policy, SES_AVERAGE_WRITE_RATE, mb_per_s, SES_RATE_MAX);
}

ses_status ses_policy_set_capacity(ses_policy *policy, double gb) {
  return set_minimum(policy, SES_FREE_CAPACITY, gb, SES_CAPACITY_MAX);
}

ses_status ses_policy_set_weight(ses_policy *policy, ses_requirement_kind kind, double weight) {
  if (!policy)
    return SES_REFUSED_NO_POLICY;
  ses_status status = is_kind(kind) ? judge(weight, SES_WEIGHT_MAX) : SES_REFUSED_KIND;
  if (status == SES_OK && weight == 0)
    status = SES_REFUSED_NEGATIVE;
  if (status != SES_OK)
    return refuse(policy, status);
  policy->minimums[kind].weight = weight;
  return SES_OK;
}

ses_status ses_policy_set_hard(ses_policy *policy, ses_requirement_kind kind, int hard) {
  if (!policy)
    return SES_REFUSED_NO_POLICY;
  if (!is_kind(kind))
    return refuse(policy, SES_REFUSED_KIND);
  policy->minimums[kind].hard = hard != 0;
  return SES_OK;
}

ses_status ses_policy_clear(ses_policy *policy, ses_requirement_kind kind) {
  if (!policy)
    return SES_REFUSED_NO_POLICY;
  if (!is_kind(kind))
    return refuse(policy, SES_REFUSED_KIND);
  policy->minimums[kind] = unstated;
  return SES_OK;
}

ses_status ses_policy_set_expected_size(ses_policy *policy, uint64_t bytes) {
  if (!policy)
    return SES_REFUSED_NO_POLICY;
  if (bytes > INT64_MAX)
    return refuse(policy, SES_REFUSED_TOO_LARGE);
  policy->expected_bytes = (int64_t)bytes;
  return SES_OK;
}

ses_status ses_policy_set_stripe_count(ses_policy *policy, unsigned count) {
  if (!policy)
    return SES_REFUSED_NO_POLICY;
  if (count > SES_STRIPE_COUNT_MAX)
    return refuse(policy, SES_REFUSED_TOO_LARGE);
  policy->stripe_count = count;
  return SES_OK;
}

ses_status ses_policy_set_stripe_size(ses_policy *policy, uint64_t bytes) {
  if (!policy)
    return SES_REFUSED_NO_POLICY;
  if (bytes > SES_STRIPE_SIZE_MAX)
    return refuse(policy, SES_REFUSED_TOO_LARGE);
  if (bytes % SES_STRIPE_SIZE_STEP)
    return refuse(policy, SES_REFUSED_STRIPE_SIZE);
  policy->stripe_size = bytes;
  return SES_OK;
}

static bool is_pool_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

static bool is_application_character(char c) {
  return (unsigned char)c >= ' ' && c != 127 && c != ':' && c != '/';
}

/* Copy TEXT if it fits into SIZE bytes with its NUL and every character is allowed. */
static bool take(char *into, size_t size, const char *text, bool (*allowed)(char)) {
  size_t length = strlen(text);
  if (length >= size)
    return false;
  for (size_t i = 0; i < length; i++)
    if (!allowed(text[i]))
      return false;
  memset(into, 0, size);
  memcpy(into, text, length);
  return true;
}

ses_status ses_policy_set_pool(ses_policy *policy, const char *pool) {
  if (!policy)
    return SES_REFUSED_NO_POLICY;
  if (!take(policy->pool, sizeof policy->pool, pool ? pool : "", is_pool_character))
    return refuse(policy, SES_REFUSED_POOL);
  return SES_OK;
}

ses_status ses_policy_set_application(ses_policy *policy, const char *application) {
  if (!policy)
    return SES_REFUSED_NO_POLICY;
  if (application && !*application)
    return refuse(policy, SES_REFUSED_APPLICATION);
  if (!take(policy->application, sizeof policy->application, application ? application : "",
            is_application_character))
    return refuse(policy, SES_REFUSED_APPLICATION);
  return SES_OK;
}

void ses_policy_need(const ses_policy *policy, struct ses_need *need) {
  memset(need, 0, sizeof *need);
  need->expected_bytes = -1;
  if (!policy)
    return;
  need->application = *policy->application ? policy->application : NULL;
  need->pool = *policy->pool ? policy->pool : NULL;
  need->expected_bytes = policy->expected_bytes;
  need->stripe_size = policy->stripe_size;
  need->stripe_count = policy->stripe_count;
  for (int kind = SES_CURRENT_READ_RATE; kind <= SES_FREE_CAPACITY; kind++) {
    const struct ses_minimum *from = &policy->minimums[kind];
    if (!from->stated)
      continue;
    struct ses_wire_requirement *to = &need->requirements[need->requirement_count++];
    to->kind = (uint32_t)kind;
    to->hard = from->hard;
    to->minimum = from->minimum;
    to->weight = from->weight;
  }
}
