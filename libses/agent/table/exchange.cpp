#include "table/exchange.h"

#include <sys/eventfd.h>

namespace ses::agent {

Exchange::Exchange() : ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Exchange::Arrived Exchange::take() {
  eventfd_t count = 0;
  (void)eventfd_read(ready_.get(), &count);
  const std::lock_guard lock(mutex_);
  has_rung_ = false;
  return std::exchange(arrived_, {});
}

void Exchange::set_wanted(std::vector<TableWanted> wanted) {
  const std::lock_guard lock(mutex_);
  wanted_ = std::move(wanted);
}

void Exchange::set_busy(bool busy) {
  const std::lock_guard lock(mutex_);
  busy_ = busy;
}

std::vector<TableWanted> Exchange::wanted() const {
  const std::lock_guard lock(mutex_);
  return wanted_;
}

bool Exchange::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

// One ring for all that arrives until it is taken.
void Exchange::ring() {
  if (!std::exchange(has_rung_, true)) {
    eventfd_write(ready_.get(), 1);
  }
}

void Exchange::put(ServiceUpdate update) {
  const std::lock_guard lock(mutex_);
  arrived_.updates.push_back(std::move(update));
  ring();
}

void Exchange::moved(const std::vector<IdleFiles::Changed> &moved) {
  if (moved.empty()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  arrived_.moved.insert(arrived_.moved.end(), moved.begin(), moved.end());
  ring();
}

void Exchange::ended(const std::vector<Ended> &ended) {
  if (ended.empty()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  arrived_.ended.insert(arrived_.ended.end(), ended.begin(), ended.end());
  ring();
}

void Exchange::mounts_changed() {
  const std::lock_guard lock(mutex_);
  arrived_.mounts = true;
  ring();
}

} // namespace ses::agent
