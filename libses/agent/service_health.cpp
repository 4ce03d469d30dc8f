#include "service_health.h"

#include <spdlog/spdlog.h>
#include <sys/eventfd.h>

#include <algorithm>

#include "service_messages.h"

namespace ses::agent {
namespace {

constexpr std::chrono::milliseconds kFirstDelay{250};
constexpr std::chrono::milliseconds kLongestDelay{5000};
constexpr std::chrono::seconds kSteady{10}; // up this long: the next failure is a first one

} // namespace

ServiceHealth::ServiceHealth(std::string url)
    : url_(std::move(url)), failure_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

bool ServiceHealth::answered() {
  const std::lock_guard lock(mutex_);
  if (available_) {
    return false;
  }
  available_ = true;
  available_since_ = Clock::now();
  if (said_lost_) {
    spdlog::info("service found again at {}", url_);
  } else {
    spdlog::info("service found at {}", url_);
  }
  return true;
}

void ServiceHealth::worked() {
  const std::lock_guard lock(mutex_);
  failures_ = 0;
}

void ServiceHealth::failed(const std::string &cause,
                           std::optional<std::chrono::milliseconds> retry_after) {
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    const bool was_available = available_.exchange(false);
    if (was_available && now - available_since_ > kSteady) {
      failures_ = 0;
    }
    const auto doubled = kFirstDelay * (1u << std::min(failures_, 8u));
    const auto delay = std::min<std::chrono::milliseconds>(doubled, kLongestDelay);
    std::uniform_real_distribution<double> jitter(0.5, 1.0);
    const auto wait = std::chrono::duration<double, std::milli>(
        retry_after ? static_cast<double>(retry_after->count())
                    : static_cast<double>(delay.count()) * jitter(random_));
    ++failures_;
    retry_at_ = now + std::chrono::duration_cast<Clock::duration>(wait);
    if (was_available || !said_lost_) {
      spdlog::warn("service at {} lost ({}); programs make the plain call until it is back", url_,
                   cause);
      said_lost_ = true;
    } else {
      spdlog::debug("service at {} still lost ({})", url_, cause);
    }
  }
  eventfd_write(failure_.get(), 1);
}

Clock::time_point ServiceHealth::retry_at() const {
  const std::lock_guard lock(mutex_);
  return retry_at_;
}

std::string failure_of(const Reply &reply) {
  if (reply.status == 0) {
    return reply.error;
  }
  if (reply.status == 401 || reply.status == 403) {
    return "it refuses this node's token: HTTP " + std::to_string(reply.status) + " " +
           problem_detail(reply.body);
  }
  if (reply.status >= 500 || reply.status == 429 || reply.status < 200 ||
      (reply.status >= 300 && reply.status < 400)) {
    return "HTTP " + std::to_string(reply.status) + " " + problem_detail(reply.body);
  }
  return "";
}

} // namespace ses::agent
