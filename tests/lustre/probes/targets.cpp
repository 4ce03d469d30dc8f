// targets FILE: what the agent takes for the targets of a file on Lustre, one a line.
#include <fcntl.h>

#include <iostream>

#include "ses/protocol.h"
#include "table/file_place.h"

int main(int, char **arguments) {
  for (const auto &target :
       ses::agent::targets_of_file(SES_BACKEND_LUSTRE, open(arguments[1], O_RDONLY))) {
    std::cout << target << "\n";
  }
}
