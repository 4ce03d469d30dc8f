// How much of one file moved in which time, look by look.
//
// Pure: seconds come from the caller.
#ifndef SES_AGENT_MOVEMENT_H
#define SES_AGENT_MOVEMENT_H

#include "rates/achieved.h"
#include "rates/attribution.h"

namespace ses::agent {

class Movement {
public:
  // What moved up to AT, in seconds since the create, since the last look or resume().  IS_WRITING,
  // IS_READING: a call that writes, makes durable or reads had not ended.
  void add(double at, const MovedBytes &moved, bool is_writing, bool is_reading);
  // Nothing moved up to AT; looks begin again.
  void resume(double at) { looked_at_ = at; }
  // The file was synchronized: all of it is on the device.
  void synchronized() { synchronized_ = achieved_.written; }
  // Nobody looked from the create on.
  void begin_late() { achieved_.gaps = true; }

  [[nodiscard]] double looked_at() const { return looked_at_; }
  [[nodiscard]] uint64_t written() const { return achieved_.written; }
  [[nodiscard]] uint64_t read() const { return achieved_.read; }
  [[nodiscard]] bool is_mapped() const { return achieved_.mapped; }
  // In the last look.
  [[nodiscard]] bool moves() const { return writes_ || reads_; }

  // It was closed AT that time, has SIZE, and had GROWN since the last look.  Reading, up to the
  // end of the file, and overwriting went on until then at the rate of the last look.  Other
  // writing went on for as long as growing takes at that rate.
  [[nodiscard]] Achieved end(double at, uint64_t grown, uint64_t size);

private:
  void sample(double at);

  Achieved achieved_;
  double looked_at_ = 0;
  bool writes_ = false, reads_ = false, is_writing_ = false;
  double write_rate_ = 0, read_rate_ = 0; // of the last look, without what grew
  uint64_t synchronized_ = 0;
  uint64_t silent_ = 0; // bytes it grew without any call that wrote
  unsigned silently_ = 0;
  double sample_every_ = 0;
};

} // namespace ses::agent

#endif // SES_AGENT_MOVEMENT_H
