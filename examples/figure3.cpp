/*
 * Figure 3 of the QStorMan paper, unchanged between the marks: a file whose
 * requirements are stated in the program.  Run it in a directory of a storage
 * system; it writes one line into fileName.dat and says where the file went.
 *
 *     c++ -std=c++17 figure3.cpp $(pkg-config --cflags --libs ses) -o figure3
 */
#include <cstdio>
#include <iostream>
#include <ses/ses.hpp>
#include <string_view>
#include <unistd.h>

int main() {
  // Figure 3
  LustreManager manager;
  StoragePolicy policy;

  policy.setAverageReadTransferRate(50);
  policy.setCapacity(100);

  int descriptor = manager.createFile("fileName.dat", &policy);
  // end of Figure 3

  if (descriptor < 0) {
    std::perror("fileName.dat");
    return 1;
  }
  const ses::Result &result = manager.lastResult();
  if (result.placed())
    std::cout << "fileName.dat is on " << result.element() << ", distance " << result.distance()
              << '\n';
  else
    std::cout << "fileName.dat was not placed: " << result.message() << '\n';

  constexpr std::string_view line = "data\n";
  bool written = write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (close(descriptor) != 0 || !written) {
    std::perror("fileName.dat");
    return 1;
  }
  return 0;
}
