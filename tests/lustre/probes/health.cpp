// health ROOT: the agent's view of the Lustre whose parameters lie below ROOT, line by line.
//
//   "list 1 2" or "pool fast" on standard input are answered "usable" or why not, and the pool that
//   would be named beside the list; "use 1 2" says that files went there; "changed" is printed
//   whenever the view changes.  A question to the server of OST 3 appends "3" to ROOT/asked, hangs
//   while there is a file ROOT/hang-3, and gets the first word of ROOT/answer-3.
//
// health: how many questions a minute makes of 64 OSTs in use, and of none.
#include "lustre/health.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

using ses::agent::LustreHealth;
using ses::agent::LustreQuestions;
using ses::agent::Placement;

namespace {

std::string ask(const std::string &root, uint16_t ost, std::atomic<bool> &at_server) {
  const std::string name = std::to_string(ost);
  std::ofstream(root + "/asked", std::ios::app) << name << std::endl;
  at_server = true;
  while (std::filesystem::exists(root + "/hang-" + name)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::string answer;
  std::ifstream(root + "/answer-" + name) >> answer;
  return answer;
}

int questions_in_a_minute(uint16_t in_use) {
  LustreQuestions questions(LustreQuestions::Pace{});
  std::set<uint16_t> all;
  int asked = 0;
  for (uint16_t ost = 0; ost < 64; ++ost) {
    all.insert(ost);
  }
  const auto start = std::chrono::steady_clock::now();
  for (int second = 0; second < 60; ++second) {
    const auto now = start + std::chrono::seconds(second);
    for (uint16_t ost = 0; ost < in_use; ++ost) {
      questions.use(ost, now);
    }
    asked += questions.go_on(
        all, [](uint16_t, std::atomic<bool> &) { return std::string(); }, now);
  }
  return asked;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cout << questions_in_a_minute(64) << " " << questions_in_a_minute(0) << std::endl;
    return 0;
  }
  const std::string root = argv[1];
  const std::string mountinfo =
      "41 22 0:99 / /nowhere/lustre rw - lustre 10.0.2.15@tcp:/lustre/part rw\n";
  std::mutex output;
  const auto say = [&output](const std::string &text) {
    const std::lock_guard lock(output);
    std::cout << text << std::endl;
  };
  LustreHealth health(
      {.systems =
           [] {
             return std::vector<ses::agent::StorageSystem>{
                 {"lfs", SES_BACKEND_LUSTRE, "/nowhere/lustre"}};
           },
       .mountinfo = [&mountinfo] { return mountinfo; },
       .root = root,
       .ask = [root](const std::string &, uint16_t ost,
                     std::atomic<bool> &at_server) { return ask(root, ost, at_server); },
       .pace = {.every = std::chrono::milliseconds(20), .limit = std::chrono::milliseconds(50)},
       .look_every = std::chrono::milliseconds(20)});
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
    if (kind == "use") {
      health.use("lfs", placement.osts);
    }
    const std::string why = health.trouble_of("lfs", placement);
    health.add_pool("lfs", placement);
    say((why.empty() ? "usable" : why) + " (" + placement.pool + ")");
  }
  return 0;
}
