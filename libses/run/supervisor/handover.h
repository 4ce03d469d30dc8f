// How ses-run hands the listener to the supervisor: over a socket pair, one message each.
//
//     ses-run -> supervisor   one byte, only to the one in reserve: it is needed
//     supervisor -> ses-run   one byte: it has all it needs
//     ses-run -> supervisor   one byte and the listener
//     supervisor -> ses-run   one byte: it listens
#ifndef SES_RUN_SUPERVISOR_HANDOVER_H
#define SES_RUN_SUPERVISOR_HANDOVER_H

namespace ses::run {

inline constexpr int kControl = 3; // the supervisor's end when it starts

bool notify(int control);
bool await(int control); // false: the other end is gone
bool hand_over(int control, int listener);
int take_over(int control); // the listener, close-on-exec; -1: the other end is gone

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_HANDOVER_H
