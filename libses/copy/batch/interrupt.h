// Ends a run early: by SIGINT, SIGTERM or SIGHUP, or because nothing more can succeed.
#ifndef SES_COPY_INTERRUPT_H
#define SES_COPY_INTERRUPT_H

#include <atomic>

namespace ses::copy {

// From now on the signals ask to stop, but for those that are ignored already; the second one ends
// the program at once.
void listen_for_signals();

// True: copies end at their next step.
extern std::atomic<bool> stop_asked;

// Which signal asked; 0: none.
int stop_signal();

} // namespace ses::copy

#endif // SES_COPY_INTERRUPT_H
