#include "reporter.h"

#include <spdlog/spdlog.h>

namespace ses::agent {
namespace {

constexpr size_t kMostWaiting = 100000;
constexpr size_t kMostWaitingOfUid = 16384;
constexpr unsigned kMostAttempts = 3;                // of a report that breaks the service
constexpr std::chrono::milliseconds kLookAgain{100}; // while the service is lost

} // namespace

Reporter::Reporter(const ServiceAddress &address, const Token &token, const std::string &ca_file,
                   ServiceHealth &health)
    : health_(health) {
  for (Lane &lane : lanes_) {
    lane.thread = std::thread([this, &lane, &address, &token, ca_file] {
      work(lane, ServiceClient(address, token, ca_file));
    });
  }
}

Reporter::~Reporter() { stop(std::chrono::milliseconds(0)); }

void Reporter::stop(std::chrono::milliseconds limit) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      stopping_ = true;
      stop_by_ = Clock::now() + limit;
    }
  }
  for (Lane &lane : lanes_) {
    lane.wake.notify_all();
    if (lane.thread.joinable()) {
      lane.thread.join();
    }
  }
  if (waiting_ > 0) {
    spdlog::warn("{} reports were not sent; the service's leases end those placements", waiting_);
    waiting_ = 0;
  }
}

void Reporter::opened(uid_t uid, const Opened &file) {
  add(file.placement_id, {uid, "PATCH", "/v1/placements/" + format_id(file.placement_id),
                          open_body(file.path, file.device, file.inode, file.pid)});
}

void Reporter::ended(uid_t uid, uint64_t placement_id, EndReason reason,
                     std::optional<uint64_t> bytes_written) {
  spdlog::debug("placement {} of uid {} ended: {}", format_id(placement_id), uid, name_of(reason));
  add(placement_id, {uid, "POST", "/v1/placements/" + format_id(placement_id) + "/end",
                     end_body(reason, bytes_written)});
}

bool Reporter::overloaded_by(uid_t uid) const {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_of_.find(uid);
  return waiting_ >= kMostWaiting ||
         (found != waiting_of_.end() && found->second >= kMostWaitingOfUid);
}

void Reporter::add(uint64_t placement_id, Request request) {
  Lane &lane = lanes_[placement_id % lanes_.size()];
  const std::lock_guard lock(mutex_);
  if (waiting_ >= 2 * kMostWaiting) { // overloaded_by() stopped new placements long before
    if (!said_full_) {
      spdlog::warn("too many reports wait for the service; its leases end the rest");
      said_full_ = true;
    }
    return;
  }
  ++waiting_;
  ++waiting_of_[request.uid];
  lane.queue.push_back(std::move(request));
  lane.wake.notify_one();
}

void Reporter::work(Lane &lane, ServiceClient client) {
  std::unique_lock lock(mutex_);
  for (;;) {
    lane.wake.wait(lock, [&] { return stopping_ || !lane.queue.empty(); });
    if (lane.queue.empty() || (stopping_ && Clock::now() >= stop_by_)) {
      return; // only when stopping
    }
    if (!health_.available()) {
      if (stopping_) {
        return;
      }
      lane.wake.wait_for(lock, kLookAgain);
      continue;
    }
    Request request = std::move(lane.queue.front());
    lane.queue.pop_front();
    lock.unlock();
    const bool done = send(client, request);
    lock.lock();
    if (!done) {
      lane.queue.push_front(std::move(request));
      continue;
    }
    --waiting_;
    said_full_ = said_full_ && waiting_ >= kMostWaiting;
    if (const auto found = waiting_of_.find(request.uid); --found->second == 0) {
      waiting_of_.erase(found);
    }
  }
}

bool Reporter::send(ServiceClient &client, Request &request) {
  const Reply reply = client.request(request.method, request.path, request.body);
  const bool away =
      reply.status == 0 || reply.status == 401 || reply.status == 429 || reply.status == 503;
  if (away) {
    health_.failed(failure_of(reply), reply.retry_after);
    return false;
  }
  if (reply.status >= 500 && ++request.attempts < kMostAttempts) {
    return false;
  }
  if (reply.status >= 400) {
    spdlog::debug("{} {} was refused: HTTP {} {}", request.method, request.path, reply.status,
                  problem_detail(reply.body));
  }
  return true;
}

} // namespace ses::agent
