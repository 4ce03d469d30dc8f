// looks limits: how calls that hang bar others.  looks stage DIRECTORY: watches it until that
// hangs. looks readers DIRECTORY: who reads files of its file system.
#include <fcntl.h>
#include <unistd.h>

#include <barrier>
#include <cstdio>
#include <memory>
#include <semaphore>
#include <string>

#include "node/may_hang.h"
#include "processes/proc_files.h"
#include "rates/readers.h"
#include "systems/stage_watch.h"

using namespace ses::agent;

namespace {

constexpr Timeouts kOfTest{std::chrono::milliseconds(100), std::chrono::hours(1)};
constexpr Timeouts kLong{std::chrono::minutes(1), std::chrono::hours(1)};

Subject process(int pid, uid_t uid) {
  return {"process " + std::to_string(pid) + " of uid " + std::to_string(uid), uid};
}

bool runs(const Subject &subject) {
  return what_may_hang(
             subject, [] { return true; }, kLong)
      .has_value();
}

void hang(int count, uid_t first, uid_t last) {
  const auto never = std::make_shared<std::binary_semaphore>(0);
  std::vector<MayHang> calls;
  for (uid_t uid = first; uid <= last; ++uid) {
    for (int pid = 1; pid <= count; ++pid) {
      calls.push_back({process(pid, uid), [never] { never->acquire(); }});
    }
  }
  (void)run_what_may_hang(std::move(calls), kOfTest);
}

void limits() {
  constexpr int kMany = 20;
  const auto all = std::make_shared<std::barrier<>>(kMany);
  std::vector<MayHang> calls;
  for (int number = 0; number < kMany; ++number) {
    calls.push_back({{"storage " + std::to_string(number)}, [all] { all->arrive_and_wait(); }});
  }
  int returned = 0;
  for (const bool has_returned : run_what_may_hang(std::move(calls), kLong)) {
    returned += has_returned;
  }
  hang(1, 0, 0);
  hang(8, 1000, 1000);
  std::printf("together %d; of root %d %d; of a user %d, of another %d, of none %d\n", returned,
              runs(process(1, 0)), runs(process(2, 0)), runs(process(9, 1000)),
              runs(process(9, 1001)), runs({"storage"}));
  hang(8, 2000, 2062); // 513 with those above
  hang(1, 3000, 3000);
  std::printf("of many: of one of them %d, of who has one %d, of another %d, of none %d\n",
              runs(process(9, 2000)), runs(process(2, 3000)), runs(process(1, 3001)),
              runs({"storage"}));
}

void watch_stage(const char *path) {
  const UniqueFd top(open(path, O_RDONLY | O_DIRECTORY));
  const dev_t device = facts_of(top.get()).value().id.device;
  StageWatch watch;
  do {
    (void)watch.add(top.get(), device, path);
    std::puts("watched");
    std::fflush(stdout);
  } while (ask_storage(device, [] { return true; }));
}

void say_readers(const char *path) {
  const UniqueFd top(open(path, O_RDONLY | O_DIRECTORY));
  const dev_t device = facts_of(top.get()).value().id.device;
  Readers readers({[device] { return std::set<dev_t>{device}; },
                   [](dev_t, int) {
                     return Readers::Place{"system", "element"};
                   },
                   [](const std::set<FileId> &) { return std::set<FileId>(); },
                   [](const std::vector<Reading> &reading) {
                     for (const Reading &reader : reading) {
                       std::puts(reader.user.c_str());
                     }
                     std::fflush(stdout);
                   }});
  readers.start();
  pause();
}

} // namespace

int main(int, char **argv) {
  const std::string mode = argv[1];
  if (mode == "limits") {
    limits();
  } else if (mode == "stage") {
    watch_stage(argv[2]);
  } else {
    say_readers(argv[2]);
  }
  std::fflush(stdout);
  _exit(0); // threads that hang are left behind
}
