// jobs in UID <groups: as job_in().  jobs of DIRECTORY GROUPS PID UID [NAMED]: as Jobs::job_of().
// Prints the job in quotes, or "none".
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>

#include "processes/jobs.h"

using namespace ses::agent;

int main(int count, char **argv) {
  const auto number = [argv](int at) {
    return static_cast<uid_t>(std::strtoul(argv[at], nullptr, 10));
  };
  std::optional<std::string> job;
  if (std::string(argv[1]) == "in") {
    job = job_in(std::string(std::istreambuf_iterator<char>(std::cin), {}), number(2));
  } else {
    const auto named = count > 6 ? std::optional<std::string>(argv[6]) : std::nullopt;
    job = Jobs(argv[2], argv[3]).job_of(static_cast<pid_t>(number(4)), number(5), named);
  }
  std::printf("%s", job ? ("'" + *job + "'").c_str() : "none");
}
