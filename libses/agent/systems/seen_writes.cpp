#include "systems/seen_writes.h"

#include <algorithm>
#include <cmath>

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kCounts{5};
constexpr double kSteps = 20; // of a stream: less is no change

} // namespace

void SeenWrites::note_own(unsigned row, double streams) {
  rows_[row].own = streams;
  rows_[row].largest_own = std::max(rows_[row].largest_own, streams);
}

bool SeenWrites::look(unsigned row, double used, double rate, Time at) {
  Row &here = rows_[row];
  if (here.at && at <= *here.at) {
    return false;
  }
  const double before = here.foreign;
  here.foreign = 0;
  if (here.at && rate > 0) {
    const double passed = std::chrono::duration<double>(at - *here.at).count();
    const double busy = std::min(1.0, (used - here.used) / passed / rate);
    here.foreign = std::max(0.0, std::round((busy - here.largest_own) * kSteps) / kSteps);
  }
  here.at = at;
  here.used = used;
  here.largest_own = here.own;
  return here.foreign != before;
}

double SeenWrites::foreign(unsigned row, Time now) const {
  const Row &here = rows_[row];
  return here.at && now - *here.at < kCounts ? here.foreign : 0;
}

} // namespace ses::agent
