// Adding to lists in environment variables without losing what is there.
#ifndef SES_RUN_PRELOAD_LIST_H
#define SES_RUN_PRELOAD_LIST_H

#include <string>

namespace ses::run {

// LIST, a value of LD_PRELOAD, with ENTRY at its end, unless a library of the same file name is in
// it already.
std::string with_library(const std::string &list, const std::string &entry);

// OPTIONS, a value of ASAN_OPTIONS, such that AddressSanitizer does not stop the program because
// another library is loaded before its own; left alone where it sets that itself.
std::string with_asan_order(const std::string &options);

} // namespace ses::run

#endif // SES_RUN_PRELOAD_LIST_H
