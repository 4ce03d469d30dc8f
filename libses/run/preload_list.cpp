#include "preload_list.h"

namespace ses::run {
namespace {

std::string base_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

constexpr const char *kSeparators = " :"; // of the dynamic linker

} // namespace

std::string with_library(const std::string &list, const std::string &entry) {
  const std::string name = base_name(entry);
  size_t begin = list.find_first_not_of(kSeparators);
  if (begin == std::string::npos) {
    return entry;
  }
  while (begin != std::string::npos) {
    const size_t end = list.find_first_of(kSeparators, begin);
    if (base_name(list.substr(begin, end - begin)) == name) {
      return list;
    }
    begin = list.find_first_not_of(kSeparators, end);
  }
  return list + ":" + entry;
}

std::string with_asan_order(const std::string &options) {
  if (options.find("verify_asan_link_order") != std::string::npos) {
    return options;
  }
  return options + (options.empty() ? "" : ":") + "verify_asan_link_order=0";
}

} // namespace ses::run
