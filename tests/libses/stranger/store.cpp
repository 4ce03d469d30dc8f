/*
 * store_cpp FILE [AVERAGE_READ_MB_S]: create FILE with a LustreManager in
 * each of its ways and print what became of the last one.
 */
#include <cstdio>
#include <cstdlib>
#include <ses/ses.hpp>
#include <string>
#include <type_traits>
#include <unistd.h>

static_assert(std::is_nothrow_default_constructible_v<StoragePolicy>);
static_assert(std::is_nothrow_move_constructible_v<ses::StoragePolicy>);
static_assert(noexcept(LustreManager().createFile("", nullptr)));

static ses::StoragePolicy fastReader(double rate) {
  StoragePolicy policy;
  policy.setAverageReadTransferRate(rate);
  policy.setCurrentReadTransferRate(rate);
  policy.setAverageWriteTransferRate(1);
  policy.setCurrentWriteTransferRate(1);
  policy.setCapacity(100);
  policy.setExpectedSize(7);
  policy.setStripeCount(1);
  policy.setStripeSize(SES_STRIPE_SIZE_STEP);
  policy.setPool(std::string("fast"));
  policy.setWeight(SES_FREE_CAPACITY, 0.5);
  policy.setHard(SES_AVERAGE_READ_RATE);
  return policy;
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  const std::string name = argv[1];
  const double rate = argc > 2 ? std::strtod(argv[2], nullptr) : 50;

  StoragePolicy policy = fastReader(rate);
  const StoragePolicy copy = policy;
  policy.clear(SES_CURRENT_READ_RATE);
  StoragePolicy moved = std::move(policy);
  policy = std::move(moved);

  LustreManager manager;
  int fd = manager.createFile(name, &copy);
  const ses::Result result = manager.lastResult();
  std::printf("fd=%d\nplaced=%d\nreason=%d\ntext=%s\nelement=%s\ndistance=%g\n", fd,
              result.placed(), result.reason(), result.message().data(), result.element().data(),
              result.distance());
  std::printf("create_errno=%d\nplace_errno=%d\npolicy_status=%d\n", result.createErrno(),
              result.placeErrno(), result.policyStatus());
  std::printf("chosen_by=%d\n", result.chosenBy());
  if (fd < 0)
    return 0;
  if (write(fd, "stored\n", 7) != 7 || lseek(fd, 0, SEEK_SET) != 0)
    return 1;
  char back[7];
  if (read(fd, back, sizeof back) != 7 || close(fd) != 0)
    return 1;

  // The other ways: a Result of one's own on a const manager; flags; no policy.
  const LustreManager &shared = manager;
  ses::Result own;
  int second = shared.createFile((name + ".2").c_str(), &policy, own, 0600);
  int third = shared.createFileAt(AT_FDCWD, (name + ".2").c_str(), O_WRONLY | O_EXCL, &policy, own);
  int fourth = manager.createFile((name + ".4").c_str());
  std::printf("second=%d\nthird=%d\nthird_errno=%d\nfourth=%d\n", second >= 0, third,
              own.createErrno(), fourth >= 0);
  return 0;
}
