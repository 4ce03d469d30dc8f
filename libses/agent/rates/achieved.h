// What a placed file got, reported when it ends (Achieved of ses-service/openapi.yaml).
#ifndef SES_AGENT_ACHIEVED_H
#define SES_AGENT_ACHIEVED_H

#include <cstdint>
#include <optional>
#include <vector>

namespace ses::agent {

struct Sample {
  double at = 0; // seconds since the file was created
  uint64_t written = 0, read = 0;
};

struct Achieved {
  // Below these there is too little to measure a rate.
  static constexpr uint64_t kFewBytes = 1 << 20;
  static constexpr double kFewSeconds = 0.5;

  uint64_t written = 0, read = 0;    // bytes, by the process that created the file
  double writing_seconds = 0;        // in which bytes moved, or a call for that had not ended
  double reading_seconds = 0;        // the same
  double open_seconds = 0;           // from create to close
  std::optional<uint64_t> on_device; // at least so much of what was written had got there
  bool shared = false;               // with other files of the process
  bool gaps = false;                 // not looked at for a while
  bool mapped = false;               // seen by its size, or what the process changed in memory
  std::vector<Sample> samples;       // in the order of time

  [[nodiscard]] bool is_small() const { return written < kFewBytes && read < kFewBytes; }
  [[nodiscard]] bool is_short() const {
    return writing_seconds < kFewSeconds && reading_seconds < kFewSeconds;
  }
  // Much of it was only in memory when the file was closed: programs wrote faster than the device.
  [[nodiscard]] bool is_cached() const {
    return written > 0 &&
           static_cast<double>(on_device.value_or(0)) < 0.9 * static_cast<double>(written);
  }
};

} // namespace ses::agent

#endif // SES_AGENT_ACHIEVED_H
