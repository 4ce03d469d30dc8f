/*
 * store_c FILE [SETTING=VALUE...]: create FILE with ses_create_at() and print
 * the descriptor and the whole result as "name=value" lines.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <ses/ses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rate_setter {
  const char *name;
  ses_status (*set)(ses_policy *, double);
  ses_requirement_kind kind;
};

static const struct rate_setter setters[] = {
    {"current-read-rate", ses_policy_set_current_read_rate, SES_CURRENT_READ_RATE},
    {"average-read-rate", ses_policy_set_average_read_rate, SES_AVERAGE_READ_RATE},
    {"current-write-rate", ses_policy_set_current_write_rate, SES_CURRENT_WRITE_RATE},
    {"average-write-rate", ses_policy_set_average_write_rate, SES_AVERAGE_WRITE_RATE},
    {"free-capacity", ses_policy_set_capacity, SES_FREE_CAPACITY},
};

/* VALUE is MINIMUM[:WEIGHT[:hard]]. */
static int set_requirement(ses_policy *policy, const char *name, const char *value) {
  for (size_t i = 0; i < sizeof setters / sizeof setters[0]; i++) {
    if (strcmp(name, setters[i].name) != 0)
      continue;
    const char *weight = strchr(value, ':');
    setters[i].set(policy, strtod(value, NULL));
    if (weight) {
      ses_policy_set_weight(policy, setters[i].kind, strtod(weight + 1, NULL));
      ses_policy_set_hard(policy, setters[i].kind, strstr(weight, "hard") != NULL);
    }
    return 1;
  }
  return 0;
}

static int set(ses_policy *policy, int *flags, const char *name, const char *value) {
  if (set_requirement(policy, name, value))
    return 1;
  if (strcmp(name, "flags") == 0)
    *flags = (int)strtol(value, NULL, 0);
  else if (strcmp(name, "application") == 0)
    ses_policy_set_application(policy, value);
  else if (strcmp(name, "pool") == 0)
    ses_policy_set_pool(policy, value);
  else if (strcmp(name, "expected-size") == 0)
    ses_policy_set_expected_size(policy, strtoull(value, NULL, 0));
  else if (strcmp(name, "stripe-count") == 0)
    ses_policy_set_stripe_count(policy, (unsigned)strtoul(value, NULL, 0));
  else if (strcmp(name, "stripe-size") == 0)
    ses_policy_set_stripe_size(policy, strtoull(value, NULL, 0));
  else
    return 0;
  return 1;
}

int main(int argc, char **argv) {
  int flags = O_RDWR | O_TRUNC;
  ses_policy *policy = ses_policy_new();
  for (int i = 2; i < argc; i++) {
    char *value = strchr(argv[i], '=');
    if (value)
      *value++ = '\0';
    if (!value || !set(policy, &flags, argv[i], value)) {
      fprintf(stderr, "store_c: what is %s?\n", argv[i]);
      return 2;
    }
  }

  ses_result result;
  memset(&result, 0xa5, sizeof result);
  int fd = ses_create_at(AT_FDCWD, argv[1], flags, 0666, policy, &result);
  ses_policy_free(policy);
  printf("fd=%d\nplaced=%d\nreason=%d\ntext=%s\nelement=%s\ndistance=%g\n", fd, result.placed,
         result.reason, ses_strerror(result.reason), result.element, result.distance);
  printf("placement_id=%016" PRIx64 "\ncreate_errno=%d\nplace_errno=%d\npolicy_status=%d\n",
         result.placement_id, result.create_errno, result.place_errno, result.policy_status);
  printf("chosen_by=%d\n", result.chosen_by);
  for (size_t i = 0; i < sizeof result.reserved / sizeof result.reserved[0]; i++)
    if (result.reserved[i] != 0)
      printf("reserved=written\n");
  return fd >= 0 && (write(fd, "stored\n", 7) != 7 || close(fd) != 0);
}
