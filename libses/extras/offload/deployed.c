#include "deployed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "init.h"
#include "ses/offload.h"

char *offload_deployed_on(const char *executable, const char *node) {
  char *name = NULL, *line = NULL, *program = NULL;
  size_t room = 0, size = strlen(node);
  if (asprintf(&name, "%s.nodes", executable) < 0)
    return NULL;
  FILE *nodes = fopen(name, "re");
  free(name);
  while (nodes && !program && getline(&line, &room, nodes) > 0) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, node, size) == 0 && line[size] == ' ' && line[size + 1])
      program = strdup(line + size + 1);
  }
  free(line);
  if (nodes)
    fclose(nodes);
  return program;
}

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
