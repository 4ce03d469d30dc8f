// The seccomp filter that this process was started under, and with it every program it starts.
#ifndef SES_RUN_OWN_FILTER_H
#define SES_RUN_OWN_FILTER_H

namespace ses::run {

enum class OwnFilter {
  kNone,
  kListener, // its calls are notified: to a supervisor of ses-run, unless it is a container's
  kOther,    // what it forbids, or kills for, cannot be asked
  kHarmless, // it kills for nothing that the library does (harmless.h)
};

// Tries in a child what cannot be undone.  Does NOT know filters that a program will install.
OwnFilter look_at_own_filter();

} // namespace ses::run

#endif // SES_RUN_OWN_FILTER_H
