#include "ses/offload.h"

const char *ses_offload_strerror(int status) {
  static const char *const texts[] = {
      "it went well",
      "an argument makes no sense, or ses_offload_init was not called",
      "memory is short",
      "no function of that name is registered",
      "there is no room for another function or global",
      "the data do not fit the type, or cannot be written",
      "arguments or results are larger than 64 MiB",
      "the storage part could not be started",
      "the program on the node is another build: its functions or types differ",
      "the storage part ended, or its node was lost",
      "the function failed",
      "the call was cancelled",
      "the call has not ended yet",
      "the domain belongs to the parent process",
  };
  return status >= 0 && (size_t)status < sizeof texts / sizeof texts[0] ? texts[status]
                                                                        : "an unknown status";
}
