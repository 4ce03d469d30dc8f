/*
 * lives: creates a file at each odd time of a program's life, in the working directory, and prints
 * what could not be placed.
 */
#include <cstdio>
#include <cstdlib>
#include <ses/ses.hpp>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

static int create(const LustreManager &manager, const StoragePolicy &policy, const char *name) {
  ses::Result result;
  const int descriptor = manager.createFile(name, &policy, result);
  if (!result.placed())
    std::printf("%s: %s\n", name, result.message().data());
  return descriptor < 0 || close(descriptor) != 0;
}

static StoragePolicy writer(double rate) {
  StoragePolicy policy;
  policy.setCurrentWriteTransferRate(rate);
  return policy;
}

struct Life {
  Life() { (void)create(manager, policy, "constructor"); }
  ~Life() { (void)create(manager, policy, "destructor"); }
  LustreManager manager;
  StoragePolicy policy = writer(1);
};
static Life life;

static int use_of_one_that_was_moved_from() {
  StoragePolicy policy = writer(2);
  const StoragePolicy moved = std::move(policy);
  ses::Result result;
  const int descriptor = life.manager.createFile("moved-from", &policy, result);
  const StoragePolicy copy = policy;
  const bool said =
      policy.status() == SES_REFUSED_NO_POLICY && policy.setCapacity(1) == SES_REFUSED_NO_POLICY &&
      result.policyStatus() == SES_REFUSED_NO_POLICY && copy.status() == SES_REFUSED_NO_POLICY;
  policy = moved;
  return descriptor < 0 || close(descriptor) != 0 || !said || policy.status() != SES_OK ||
         create(life.manager, policy, "assigned");
}

int main() {
  std::atexit([] { (void)create(life.manager, writer(3), "atexit"); });
  if (use_of_one_that_was_moved_from() != 0)
    return 1;
  const pid_t child = fork();
  if (child == 0)
    _exit(create(life.manager, life.policy, "child"));
  int status = 1;
  return waitpid(child, &status, 0) != child || status != 0;
}
