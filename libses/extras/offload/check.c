#include "deployed.h"

#include <stdio.h>
#include <stdlib.h>

#include "init.h"
#include "ses/offload.h"

void offload_check_if_asked(void) {
  const char *rsh, *address = offload_checked(&rsh);
  if (!address)
    return;
  ses_offload_options options = {.rsh = rsh};
  ses_offload_domain *domain;
  int status = ses_offload_open(address, &options, &domain);
  if (status == SES_OFFLOAD_OK)
    ses_offload_close(domain);
  else
    fprintf(stderr, "%s\n",
            *ses_offload_reason() ? ses_offload_reason() : ses_offload_strerror(status));
  exit(status == SES_OFFLOAD_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}
