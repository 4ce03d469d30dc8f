#include "booker.h"

#include <spdlog/spdlog.h>
#include <sys/eventfd.h>

#include <set>

#include "announcement.h"
#include "lustre_place.h"
#include "service_messages.h"
#include "stage.h"

namespace ses::agent {
namespace {

constexpr unsigned kThreads = 4;
constexpr unsigned kMostRunningOfUid = kThreads - 1;
constexpr size_t kMostWaitingOfUid = 64;
constexpr size_t kMostAloneOfUid = 256;
constexpr std::chrono::seconds kExcludedFor{30};

} // namespace

Booker::Booker(Service service, const Systems &systems, Housekeeper &housekeeper)
    : service_(service), systems_(systems), housekeeper_(housekeeper),
      lustre_(LustreHealth::of_this_node([this] { return systems_.mounted(SES_BACKEND_LUSTRE); },
                                         read_mountinfo)),
      ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (unsigned i = 0; i < kThreads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
  threads_.emplace_back([this] { work_alone(); });
  lustre_.start();
}

Booker::~Booker() { stop(); }

void Booker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  wake_alone_.notify_all();
  for (std::thread &thread : threads_) {
    thread.join();
  }
  threads_.clear();
  lustre_.stop();
}

bool Booker::submit(BookingOrder order) {
  {
    const std::lock_guard lock(mutex_);
    Queue &queue = queues_[order.key.uid];
    if (stopping_ || queue.orders.size() >= kMostWaitingOfUid) {
      return false;
    }
    queue.orders.push_back(std::move(order));
  }
  wake_.notify_one();
  return true;
}

bool Booker::submit_alone(const TicketKey &key, uint64_t waiter) {
  {
    const std::lock_guard lock(mutex_);
    std::deque<BookingOrder> &orders = alone_[key.uid];
    if (stopping_ || orders.size() >= kMostAloneOfUid) {
      return false;
    }
    orders.push_back({key, 1, waiter});
  }
  wake_alone_.notify_one();
  return true;
}

// Never asks the service, so that those who wait for this do not wait for it.
void Booker::work_alone() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_alone_.wait(lock, [&] { return stopping_ || !alone_.empty(); });
    if (stopping_) {
      return;
    }
    auto turn = alone_.upper_bound(last_turn_alone_);
    turn = turn == alone_.end() ? alone_.begin() : turn;
    last_turn_alone_ = turn->first;
    const BookingOrder order = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty()) {
      alone_.erase(turn);
    }
    lock.unlock();
    BookingResult result;
    result.key = order.key;
    result.waiter = order.waiter;
    decide_alone(order, result);
    lock.lock();
    results_.push_back(std::move(result));
    eventfd_write(ready_.get(), 1);
  }
}

std::vector<BookingResult> Booker::take_results() {
  eventfd_t count = 0;
  (void)eventfd_read(ready_.get(), &count);
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

// The next uid after the last one served that has work and a thread left; mutex_ is held.
std::map<uid_t, Booker::Queue>::iterator Booker::next_turn() {
  auto it = queues_.upper_bound(last_turn_);
  for (size_t seen = 0; seen < queues_.size(); ++seen, ++it) {
    if (it == queues_.end()) {
      it = queues_.begin();
    }
    if (!it->second.orders.empty() && it->second.running < kMostRunningOfUid) {
      return it;
    }
  }
  return queues_.end();
}

void Booker::work() {
  ServiceClient client(service_.services, service_.token, service_.ca_file);
  std::unique_lock lock(mutex_);
  for (;;) {
    auto turn = queues_.end();
    wake_.wait(lock, [&] {
      turn = next_turn();
      return stopping_ || turn != queues_.end();
    });
    if (stopping_) {
      return;
    }
    const uid_t uid = last_turn_ = turn->first;
    const BookingOrder order = std::move(turn->second.orders.front());
    turn->second.orders.pop_front();
    ++turn->second.running;
    lock.unlock();
    BookingResult result = book(client, order);
    lock.lock();
    results_.push_back(std::move(result));
    eventfd_write(ready_.get(), 1);
    const auto done = queues_.find(uid);
    --done->second.running;
    if (done->second.running == 0 && done->second.orders.empty()) {
      queues_.erase(done);
    } else {
      wake_.notify_one();
    }
  }
}

bool Booker::can_ask_for(uid_t uid) {
  const std::lock_guard lock(mutex_);
  return service_.health.available() && !slow_.pauses(uid, Clock::now());
}

void Booker::not_answered(uid_t uid, const std::string &failure, const Reply &reply) {
  if (reply.timed_out) {
    const std::lock_guard lock(mutex_);
    if (slow_.is_only_one(uid, Clock::now())) {
      spdlog::debug("the service answers others, but not uid {} ({}): it pauses", uid, failure);
      return;
    }
  }
  service_.health.failed(failure, reply);
}

BookingResult Booker::book(ServiceClient &client, const BookingOrder &order) {
  BookingResult result;
  result.key = order.key;
  result.for_plan = order.for_plan;
  result.ordered = order.count;
  if (!can_ask_for(order.key.uid)) {
    decide_alone(order, result);
    return result;
  }
  BookingRequest request;
  request.user = names_.name_of(order.key.uid);
  request.application = order.key.application;
  request.node = service_.node;
  request.system = order.key.system;
  request.requirements = order.key.requirements;
  request.expected_bytes = order.key.expected_bytes;
  request.exclude = excluded(order.key.system);
  request.count = order.count;
  request.ahead = order.ahead;
  request.lease_seconds = static_cast<unsigned>(order.lease.count());
  const Reply reply = client.request("POST", "/v1/placements", booking_body(request));
  if (const std::string failure = failure_of(reply); !failure.empty()) {
    not_answered(order.key.uid, failure, reply);
    decide_alone(order, result);
    return result;
  }
  if (reply.status >= 400) {
    spdlog::debug("no placement for {} {} on {}: HTTP {} {}", request.user, request.application,
                  printable(request.system), reply.status, problem_detail(reply.body));
    result.outcome = Booking::kRefused;
    return result;
  }
  auto booked = parse_placements(reply.body);
  if (!booked) {
    service_.health.failed("its answer to POST /v1/placements is not one", reply);
    decide_alone(order, result);
    return result;
  }
  service_.health.worked();
  {
    const std::lock_guard lock(mutex_);
    slow_.answered(order.key.uid, Clock::now());
  }
  result.requirements = parse_resolved(reply.body);
  if (result.requirements && order.key.requirements.empty()) {
    service_.detached.remember(order.key, *result.requirements);
  }
  for (Placement &placement : *booked) {
    placement.origin = std::make_shared<const Origin>(Origin{{placement.element},
                                                             wall_clock(),
                                                             order.key.expected_bytes,
                                                             placement.distance,
                                                             false,
                                                             {}});
  }
  prepare(order, std::move(*booked), result);
  result.outcome = result.placements.empty() ? Booking::kRefused : Booking::kBooked;
  spdlog::debug("booked {} of {} for {} {} on {}", result.placements.size(), order.count,
                request.user, request.application, printable(request.system));
  return result;
}

void Booker::decide_alone(const BookingOrder &order, BookingResult &result) {
  const std::string &system = order.key.system;
  prepare(order, service_.detached.decide(order.key, order.count, excluded(system)), result);
  if (!result.placements.empty()) {
    result.outcome = Booking::kBooked;
    spdlog::debug("chose {} of {} for uid {} {} on {} without the service",
                  result.placements.size(), order.count, order.key.uid,
                  printable(order.key.application), printable(system));
  }
}

void Booker::prepare(const BookingOrder &order, std::vector<Placement> booked,
                     BookingResult &result) {
  std::map<std::string, std::string> why_of; // target -> empty, or why it cannot be used
  const uid_t uid = order.key.uid;
  const std::string mount_point = systems_.mount_point_of(order.key.system);
  for (Placement &placement : booked) {
    std::string why;
    if (placement.backend == SES_BACKEND_MERGERFS) {
      const auto [known, first] = why_of.try_emplace(placement.target);
      if (first) {
        known->second = prepare_stage(placement.target, uid);
        housekeeper_.sweep_from_now_on(placement.target);
      }
      why = known->second;
      placement.stage = stage_path(placement.target, uid);
      placement.stage_in_union = stage_path(mount_point, uid);
    }
    if (placement.backend == SES_BACKEND_LUSTRE) {
      if (placement.lustre_form == SES_LUSTRE_NONE &&
          !place_on_lustre({placement.target}, placement)) {
        why = "its target is neither an OST nor a pool";
      } else {
        lustre_.await_look(order.key.system);
        why = lustre_.trouble_of(order.key.system, placement);
        lustre_.write_as(service_.lustre_form, order.key.system, placement);
      }
    }
    if (why.empty() && !make_place_answer(placement, 0, 0)) {
      why = "its names are too long for the protocol";
    }
    if (why.empty()) {
      result.placements.push_back(std::move(placement));
    } else {
      exclude(placement.element, why);
      result.unusable.push_back(std::move(placement));
    }
  }
}

void Booker::exclude(const std::string &element, const std::string &why) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  const auto found = excluded_until_.find(element);
  if (found == excluded_until_.end() || found->second < now) {
    spdlog::warn("element {} is not used for {} s: {}", printable(element), kExcludedFor.count(),
                 printable(why));
    excluded_until_[element] = now + kExcludedFor;
  }
}

std::vector<std::string> Booker::excluded(const std::string &system) {
  std::vector<std::string> elements;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  for (auto it = excluded_until_.begin(); it != excluded_until_.end();) {
    if (it->second < now) {
      it = excluded_until_.erase(it);
      continue;
    }
    if (it->first.starts_with(system + "/")) {
      elements.push_back(it->first);
    }
    ++it;
  }
  return elements;
}

} // namespace ses::agent
