// Whether the filter that this process is under lets the library do its work, or at least never
// kills for it; and the sign by which the library knows that filter again.
#ifndef SES_RUN_HARMLESS_H
#define SES_RUN_HARMLESS_H

#include <string>

namespace ses::run {

// The value of SES_FILTERS for programs of this process; empty: it is not proven.
//
// A child makes every system call that the library makes, and dies if the filter kills for one.
// What is proven holds for the filter that is in force now: so nobody below this process may be
// able to add one without no_new_privs, by which the library would see it.
std::string prove_harmless();

} // namespace ses::run

#endif // SES_RUN_HARMLESS_H
