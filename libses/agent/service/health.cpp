#include "service/health.h"

#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "node/own_file.h"
#include "processes/identity.h"
#include "service/messages.h"

namespace ses::agent {
namespace {

constexpr double kFirstDelay = 0.2, kMaxDelay = 30; // seconds, before chance
constexpr double kSwitchWithin = 0.1;               // to another service
constexpr double kSmallSite = 2;                    // seconds over which nodes come back at once
constexpr std::chrono::seconds kSteady{10};         // up this long: the next failure is a first one
constexpr std::chrono::seconds kMinLook{1};         // between two looks that programs caused, or
constexpr int kLooksInPace = 5;                     // between two heartbeats

Clock::duration seconds(double number) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(number));
}

} // namespace

ServiceHealth::ServiceHealth(Services &services, std::string state_file)
    : services_(services), state_file_(std::move(state_file)),
      failure_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      looked_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), states_(services.size()) {
  unlink(state_file_.c_str()); // of an agent before
}

ServiceHealth::~ServiceHealth() { unlink(state_file_.c_str()); }

void ServiceHealth::write_state(const std::string &text) {
  state_ = text;
  const std::string more = refused_.empty() ? "" : "refused " + refused_ + "\n";
  const size_t name = state_file_.rfind('/') + 1;
  if (!state_file_.empty()) {
    (void)write_own(name == 0 ? "./" : state_file_.substr(0, name), state_file_.substr(name),
                    text + "\n" + more + stalled_, 0644);
  }
}

void ServiceHealth::look_is_over() {
  if (std::exchange(looking_, false)) {
    eventfd_write(looked_.get(), 1);
  }
}

void ServiceHealth::refused(const std::string &number_and_what) {
  const std::lock_guard lock(mutex_);
  refused_ = number_and_what;
  write_state(state_);
}

void ServiceHealth::stalled(const std::vector<StalledThread> &threads) {
  const std::lock_guard lock(mutex_);
  stalled_.clear();
  for (const StalledThread &thread : threads) {
    stalled_ += "stalled " + std::to_string(getpid()) + " " + std::to_string(thread.thread) + " " +
                std::to_string(static_cast<int64_t>(wall_clock()) - thread.since.count()) + " " +
                thread.name + " " + thread.work + "\n";
  }
  write_state(state_);
}

bool ServiceHealth::needed(std::chrono::milliseconds pace) {
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (available_ || looking_) {
      return !available_;
    }
    if (!states_[services_.current()].nobody_there || now < look_not_before_) {
      return false;
    }
    const Clock::duration longest =
        std::max<Clock::duration>({kMinLook, pace / kLooksInPace, return_within_});
    std::uniform_real_distribution<double> chance(0.5, 1); // nodes drift apart
    look_not_before_ = now + std::chrono::duration_cast<Clock::duration>(longest * chance(random_));
    retry_at_ = now;
    looking_ = true;
  }
  eventfd_write(failure_.get(), 1);
  return true;
}

bool ServiceHealth::answered() {
  const std::lock_guard lock(mutex_);
  if (available_) {
    return false;
  }
  available_ = true;
  look_is_over();
  available_since_ = Clock::now();
  const std::string &url = services_.at(services_.current()).url;
  write_state("reached " + url);
  if (std::exchange(states_[services_.current()].logged_lost, false)) {
    spdlog::info("service found again at {}", url);
  } else {
    spdlog::info("service found at {}", url);
  }
  return true;
}

void ServiceHealth::worked(std::chrono::milliseconds return_within) {
  const std::lock_guard lock(mutex_);
  return_within_ = return_within;
  states_[services_.current()].failures = 0;
  worked_at_ = Clock::now();
}

void ServiceHealth::failed(const std::string &cause, const Reply &reply) {
  {
    const std::lock_guard lock(mutex_);
    if (reply.service != services_.current()) {
      return;
    }
    const auto now = Clock::now();
    State &state = states_[reply.service];
    state.nobody_there = reply.nobody_there;
    look_is_over();
    const std::string &url = services_.at(reply.service).url;
    const bool was_available = available_.exchange(false);
    if (was_available && now - available_since_ > kSteady) {
      state.failures = 0;
    }
    write_state("lost " + url + " " + cause);
    if (was_available || !std::exchange(state.logged_lost, true)) {
      state.logged_lost = true;
      spdlog::warn("service at {} lost ({}); programs go on without it until it is back", url,
                   cause);
    } else {
      spdlog::debug("service at {} still lost ({})", url, cause);
    }
    std::uniform_real_distribution<double> chance(0, 1);
    const double whole = std::chrono::duration<double>(return_within_).count();
    const double first = std::max(kFirstDelay, whole - kSmallSite);
    const double longest = std::max(kMaxDelay, whole);
    const double bound = std::min(longest, first * (1u << std::min(state.failures, 16u)));
    ++state.failures;
    state.not_before = now + seconds(bound * chance(random_)) +
                       reply.retry_after.value_or(std::chrono::milliseconds(0));
    size_t next = reply.service;
    for (size_t step = 1; step < states_.size(); ++step) {
      const size_t other = (reply.service + step) % states_.size();
      next = states_[other].not_before < states_[next].not_before ? other : next;
    }
    services_.use(next);
    retry_at_ =
        std::max(states_[next].not_before,
                 next == reply.service ? now : now + seconds(kSwitchWithin * chance(random_)));
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
    return "it refuses this node: HTTP " + std::to_string(reply.status) + " " +
           problem_detail(reply.body);
  }
  if (reply.status >= 500 || reply.status == 429 || reply.status < 200 ||
      (reply.status >= 300 && reply.status < 400)) {
    return "HTTP " + std::to_string(reply.status) + " " + problem_detail(reply.body);
  }
  return "";
}

} // namespace ses::agent
