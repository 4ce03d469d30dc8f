#include "rates/movement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ses/limits.h"

namespace ses::agent {
namespace {

constexpr double kGap = 1, kGapPart = 0.2; // seconds, and of the time since the create
constexpr unsigned kOnce = 2;              // growths: made room for before it is written

} // namespace

void Movement::add(double at, const MovedBytes &moved, bool is_writing, bool is_reading) {
  const double seconds = std::max(0.0, at - looked_at_);
  looked_at_ = at;
  uint64_t written = moved.written;
  if (moved.silent) {
    achieved_.mapped = true;
    silent_ += moved.written == 0 ? 1 : 0;
    if (moved.written == 0 && ++silently_ > kOnce) { // step by step: something does write
      written = std::exchange(silent_, 0);
    }
  }
  is_writing_ = is_writing;
  writes_ = written > 0 || is_writing;
  reads_ = moved.read > 0 || is_reading;
  achieved_.gaps =
      achieved_.gaps || ((writes_ || reads_) && seconds > kGap && seconds > kGapPart * at);
  achieved_.shared = achieved_.shared || moved.shared;
  achieved_.written += written;
  achieved_.read += moved.read;
  achieved_.writing_seconds += writes_ ? seconds : 0;
  achieved_.reading_seconds += reads_ ? seconds : 0;
  write_rate_ = seconds > 0 ? static_cast<double>(moved.written) / seconds : 0;
  read_rate_ = seconds > 0 ? static_cast<double>(moved.read) / seconds : 0;
  sample(at);
}

// Twice as far apart whenever there are too many.
void Movement::sample(double at) {
  auto &samples = achieved_.samples;
  if (!samples.empty() && at - samples.back().at < sample_every_) {
    return;
  }
  if (samples.size() >= SES_ANNOUNCED_SAMPLES_MAX - 1) {
    for (size_t i = 1; 2 * i < samples.size(); ++i) {
      samples[i] = samples[2 * i];
    }
    samples.resize((samples.size() + 1) / 2);
    sample_every_ = 2 * at / SES_ANNOUNCED_SAMPLES_MAX;
  }
  samples.push_back({at, achieved_.written, achieved_.read});
}

Achieved Movement::end(double at, uint64_t grown, uint64_t size) {
  const double seconds = std::max(0.0, at - looked_at_);
  const bool overwrites = writes_ && write_rate_ > 0 && achieved_.written > size;
  const bool wrote = grown > 0 || is_writing_ || overwrites;
  if (grown > 0 && !achieved_.mapped) {
    achieved_.written += grown;
  } else if (overwrites) {
    achieved_.written += static_cast<uint64_t>(write_rate_ * seconds);
  }
  if (wrote && !overwrites && write_rate_ > 0) { // what was written in place is not known
    achieved_.writing_seconds += std::min(seconds, static_cast<double>(grown) / write_rate_);
  } else {
    achieved_.writing_seconds += wrote ? seconds : 0;
  }
  if (reads_) {
    const uint64_t left = std::max(size, achieved_.read) - achieved_.read;
    const double read = std::min(read_rate_ * seconds, static_cast<double>(left));
    achieved_.read += static_cast<uint64_t>(read);
    achieved_.reading_seconds += read_rate_ > 0 ? std::min(seconds, read / read_rate_) : seconds;
  }
  achieved_.open_seconds = at;
  achieved_.gaps = achieved_.gaps || (wrote && seconds > kGap && seconds > kGapPart * at);
  if (!achieved_.samples.empty()) {
    achieved_.samples.push_back({at, achieved_.written, achieved_.read});
  }
  if (synchronized_ > 0) {
    achieved_.on_device = std::min(synchronized_, achieved_.written);
  }
  return std::move(achieved_);
}

} // namespace ses::agent
