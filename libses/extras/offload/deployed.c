#include "deployed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
