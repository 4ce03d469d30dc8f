// Files of every kind the C++ library opens.
#include <filesystem>
#include <fstream>

int main() {
  std::ofstream("stream") << 1;
  std::ofstream("appended", std::ios::app | std::ios::binary) << 2;
  std::fstream("both", std::ios::in | std::ios::out | std::ios::trunc) << 3;
  std::filesystem::copy_file("stream", "copied");
  std::filesystem::copy("stream", "copied-too", std::filesystem::copy_options::none);
  return 0;
}
