// health ROOT: the agent's view of the Lustre whose parameters lie below ROOT, line by line.
//
//   "list 1 2" or "pool fast" on standard input are answered "usable" or why not, and the pool that
//   would be named beside the list; "changed" is printed whenever the view changes.
#include "lustre/health.h"

#include <iostream>
#include <sstream>

using ses::agent::LustreHealth;
using ses::agent::Placement;

int main(int argc, char **argv) {
  if (argc != 2) {
    return 2;
  }
  const std::string mountinfo =
      "41 22 0:99 / /nowhere/lustre rw - lustre 10.0.2.15@tcp:/lustre/part rw\n";
  std::mutex output;
  const auto say = [&output](const std::string &text) {
    const std::lock_guard lock(output);
    std::cout << text << std::endl;
  };
  LustreHealth health({[] {
                         return std::vector<ses::agent::StorageSystem>{
                             {"lfs", SES_BACKEND_LUSTRE, "/nowhere/lustre"}};
                       },
                       [&mountinfo] { return mountinfo; }, argv[1]});
  health.set_on_change([&say] { say("changed"); });
  health.start();
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string kind;
    Placement placement;
    words >> kind;
    if (kind == "pool") {
      placement.lustre_form = SES_LUSTRE_POOL;
      words >> placement.pool;
    } else {
      placement.lustre_form = SES_LUSTRE_LIST;
      for (uint16_t ost; words >> ost;) {
        placement.osts.push_back(ost);
      }
    }
    const std::string why = health.trouble_of("lfs", placement);
    health.add_pool("lfs", placement);
    say((why.empty() ? "usable" : why) + " (" + placement.pool + ")");
  }
  return 0;
}
