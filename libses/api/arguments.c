#include "arguments.h"

#include <stdio.h>

void ses_command_add(struct ses_command *command, const char *argument) {
  command->arguments[command->count++] = (char *)argument;
  command->arguments[command->count] = NULL;
}

static char *room_for_text(struct ses_command *command) { return command->texts[command->used++]; }

void ses_command_add_number(struct ses_command *command, const char *option, unsigned number) {
  char *text = room_for_text(command);
  snprintf(text, SES_COMMAND_NUMBER, "%u", number);
  ses_command_add(command, option);
  ses_command_add(command, text);
}

void ses_command_add_subject(struct ses_command *command, const struct ses_need *need) {
  if (need->application) {
    ses_command_add(command, "--application");
    ses_command_add(command, need->application);
  }
  if (need->expected_bytes > 0) {
    char *text = room_for_text(command);
    snprintf(text, SES_COMMAND_NUMBER, "%.6fMB", (double)need->expected_bytes / 1e6);
    ses_command_add(command, "--size");
    ses_command_add(command, text);
  }
}

void ses_command_add_needs(struct ses_command *command, const struct ses_need *need,
                           const char *option) {
  static const char *const kinds[] = {NULL,
                                      "current-read-rate",
                                      "average-read-rate",
                                      "current-write-rate",
                                      "average-write-rate",
                                      "free-capacity"};
  for (unsigned i = 0; i < need->requirement_count; i++) {
    const struct ses_wire_requirement *requirement = &need->requirements[i];
    if (requirement->minimum <= 0)
      continue;
    char *text = room_for_text(command);
    snprintf(text, SES_COMMAND_NUMBER, "%s>=%.9g%s%s,weight=%.9g", kinds[requirement->kind],
             requirement->minimum, requirement->kind == SES_KIND_FREE_CAPACITY ? "GB" : "MB/s",
             requirement->hard ? ",hard" : "", requirement->weight);
    if (option)
      ses_command_add(command, option);
    ses_command_add(command, text);
  }
}
