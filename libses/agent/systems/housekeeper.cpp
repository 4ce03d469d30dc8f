#include "systems/housekeeper.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>

#include <algorithm>

#include "node/heartbeat.h"
#include "node/may_hang.h"
#include "service/messages.h"
#include "systems/stage.h"

namespace ses::agent {
namespace {

constexpr std::chrono::milliseconds kRefreshEvery{5000}; // and no more often than
constexpr int kPaces = 3;                                // heartbeats
constexpr std::chrono::seconds kSweepEvery{30};
constexpr std::chrono::seconds kLeftoverAge{60};

} // namespace

Housekeeper::Housekeeper(const Services &services, Token &token, const Trust &trust,
                         ServiceHealth &health, Systems &systems, Listeners listeners)
    : client_(services, token, trust), token_(token), health_(health), systems_(systems),
      listeners_(std::move(listeners)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Housekeeper::~Housekeeper() { stop(); }

void Housekeeper::start() {
  thread_ = std::thread([this] { work(); });
}

void Housekeeper::stop() {
  stopping_ = true;
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Housekeeper::sweep_from_now_on(const std::string &target) {
  bool added = false;
  {
    const std::lock_guard lock(mutex_);
    added = sweep_at_.try_emplace(target, Clock::now()).second;
  }
  if (added) {
    eventfd_write(wake_.get(), 1);
  }
}

int Housekeeper::milliseconds_to_next() const {
  Clock::time_point next = health_.available() ? refresh_at_ : health_.retry_at();
  {
    const std::lock_guard lock(mutex_);
    for (const auto &[target, at] : sweep_at_) {
      next = std::min(next, at);
    }
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(std::clamp<long long>(wait.count(), 0, 60000));
}

void Housekeeper::work() {
  pollfd watched[] = {{systems_.mounts_descriptor(), POLLPRI, 0},
                      {wake_.get(), POLLIN, 0},
                      {health_.failure_descriptor(), POLLIN, 0}};
  while (!stopping_) {
    if (Clock::now() >= (health_.available() ? refresh_at_ : health_.retry_at())) {
      refresh();
    }
    sweep();
    if (poll(watched, std::size(watched), milliseconds_to_next()) <= 0) {
      continue;
    }
    eventfd_t count = 0;
    (void)eventfd_read(wake_.get(), &count);
    (void)eventfd_read(health_.failure_descriptor(), &count);
    if (watched[0].revents != 0 && systems_.reread_mounts()) {
      listeners_.on_mounts();
    }
  }
}

void Housekeeper::refresh() {
  const Turn turn(Duty::kHousekeeper);
  const auto pause = std::max<std::chrono::milliseconds>(kRefreshEvery, kPaces * listeners_.pace());
  std::uniform_real_distribution<double> chance(0.8, 1);
  refresh_at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(pause * chance(random_));
  if (const std::string why = token_.load(); !why.empty()) { // another may have taken its place
    spdlog::debug("the token read before stays in use: {}", why);
  }
  const Reply reply = client_.request("GET", "/v1/storage-systems");
  std::string failure = failure_of(reply);
  auto systems = parse_storage_systems(reply.body);
  if (failure.empty() && (reply.status != 200 || !systems)) {
    failure = "its answer to GET /v1/storage-systems is not one (HTTP " +
              std::to_string(reply.status) + ")";
  }
  if (!failure.empty()) {
    health_.failed(failure, reply);
    return;
  }
  if (systems_.describe(std::move(*systems))) {
    listeners_.on_mounts();
  }
  listeners_.on_systems(reply.body);
  if (health_.answered()) {
    listeners_.on_found();
  }
}

void Housekeeper::sweep() {
  std::vector<std::string> due;
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    for (auto &[target, at] : sweep_at_) {
      if (at <= now) {
        at = now + kSweepEvery;
        due.push_back(target);
      }
    }
  }
  const Turn turn(Duty::kHousekeeper);
  std::vector<MayHang> sweeps;
  for (const std::string &target : due) {
    sweeps.push_back({{"the branch " + target}, [target] { sweep_stage(target, kLeftoverAge); }});
  }
  (void)run_what_may_hang(std::move(sweeps), kOfStorage);
}

} // namespace ses::agent
