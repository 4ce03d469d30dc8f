// What share.hpp shows, each step checked.
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "ses/share.hpp"

struct Best {
  double score;
  std::uint64_t step;
};

static void expect(bool is, const char *what) {
  if (!is) {
    std::fprintf(stderr, "not so: %s\n", what);
    std::exit(1);
  }
}

int main(int, char **argv) {
  auto run = ses::share::Region::open_or_create(argv[1]);
  auto again = ses::share::Region::open_or_create(argv[1]);
  auto best = run.have<Best>("best");
  expect(!best.get(), "nothing was put yet");
  expect(best.put({0.93, 1200}) == 1, "the first version is 1");
  auto seen = again.find<Best>("best");
  const auto got = seen.get();
  expect(got && got->score == 0.93 && got->step == 1200, "the other gets it");
  expect(seen.copy(1) && !seen.copy(2) && seen.version() == 1, "versions");
  {
    const std::lock_guard held(best);
    best.put({0.94, 1201});
  }
  expect(seen.await(1), "there is a later one");
  run.patience(0.01);
  expect(!best.await(2), "and no third");
  try {
    best.unlock();
    expect(false, "a lock that is not held cannot be given back");
  } catch (const std::system_error &error) {
    expect(error.code().value() == EPERM, "that is said");
  }
  auto other = again.find<double>("best");
  try {
    (void)other.get();
    expect(false, "a value of another size is no double");
  } catch (const std::system_error &error) {
    expect(error.code().value() == EMSGSIZE, "that is said, too");
  }
  best.free();
  try {
    (void)seen.get();
    expect(false, "it was freed");
  } catch (const std::system_error &error) {
    expect(error.code().value() == EBADF, "for everybody");
  }
  for (int time = 0; time < 2; time++)
    try {
      seen.free();
      expect(false, "it cannot be freed again");
    } catch (const std::system_error &error) {
      expect(error.code().value() == EBADF, "and what could not be freed is still an item");
    }
  std::puts("all as promised");
}
