#include "preload_list.h"

#include "settings/preload_list.h"

namespace ses::run {

std::string with_library(const std::string &list, const std::string &entry) {
  if (list.find_first_not_of(SES_PRELOAD_SEPARATORS) == std::string::npos) {
    return entry;
  }
  return ses_preload_list_names(list.c_str(), entry.c_str()) ? list : list + ":" + entry;
}

std::string with_asan_order(const std::string &options) {
  if (options.find("verify_asan_link_order") != std::string::npos) {
    return options;
  }
  return options + (options.empty() ? "" : ":") + "verify_asan_link_order=0";
}

} // namespace ses::run
