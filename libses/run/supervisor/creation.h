// Creating a file for a call that waits, exactly as the call would have, but where the agent says.
//
// What this does NOT do is left to the call itself: files that exist, callers in other namespaces
// or under other rules than this process, paths with magic links, file systems that are not
// managed.
#ifndef SES_RUN_SUPERVISOR_CREATION_H
#define SES_RUN_SUPERVISOR_CREATION_H

#include "caller.h"
#include "listener.h"
#include "shared_calls.h"

namespace ses::run {

// Answers calls; used by one thread, whose umask and identity it changes during an answer.
class Creator {
public:
  Creator(const Listener &listener, SharedCalls &calls);

  // Answers the call in SLOT: with a placed file, or by letting it go on.
  void answer(Slot &slot) const;
  // The same after a worker was killed over it.  What it has put into the caller's process counts.
  // If it was about to make a file that was not there (O_EXCL), the file may be there by now, or
  // come soon from a server that has been asked for it: the call gets that one, or an
  // unplaced one, but not EEXIST.
  void finish(Slot &slot) const;
  // The call ID goes on as if nobody listened, which SES_LOG records.  Of a living worker SLOT may
  // hold the next call by now, which is the worker's: let go on as well, it would meet or lose the
  // file that is being made for it.
  void leave(const Slot &slot, uint64_t id) const;

private:
  struct Place;

  // A filter that hands calls to a tracer, as by a kernel without such filters: tracers know others
  // ways, and would miss the calls that come here.
  [[nodiscard]] bool refuse(const Slot &slot) const;
  [[nodiscard]] bool find_place(Place &place, const Slot &slot) const;
  [[nodiscard]] bool create(Slot &slot) const;
  // What the call is to return, before it does: until then the caller neither runs a program that
  // this process still has open for writing, nor unmounts what it has a directory of.  Negative:
  // the caller has not got FILE.
  [[nodiscard]] int give(Slot &slot, const Place &place, int file) const;
  [[nodiscard]] bool give_any(Slot &slot) const;
  [[nodiscard]] bool give_given(const Slot &slot) const;

  const Listener &listener_;
  SharedCalls &calls_;
  Identity own_;
};

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_CREATION_H
