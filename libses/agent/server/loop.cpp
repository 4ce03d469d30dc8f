#include "server/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "node/heartbeat.h"

namespace ses::agent {
namespace {

using Clock = std::chrono::steady_clock;

} // namespace

Loop::Loop(const Parts &parts) : parts_(parts), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

bool Loop::watch(int descriptor, Event event) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.u64 = static_cast<uint64_t>(event);
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &wanted) == 0;
}

bool Loop::run() {
  if (!watch(parts_.stop_signals, Event::kStop) ||
      !watch(parts_.server.descriptor(), Event::kConnections) ||
      !watch(parts_.exchange.descriptor(), Event::kUpdate) ||
      !watch(parts_.health.looked_descriptor(), Event::kLooked) ||
      !watch(parts_.stager.ready_descriptor(), Event::kStaged) ||
      !watch(parts_.doorbell.descriptor(), Event::kWoken)) {
    return false;
  }
  (void)watch(parts_.stager.watch().descriptor(), Event::kStageMoved);
  std::array<epoll_event, 8> events{};
  for (;;) {
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 milliseconds_to_next());
    const Turn turn(Duty::kServer);
    is_due_ = Clock::now() >= parts_.claims.due();
    bool connections = false; // they come last, and get what the others brought
    for (int i = 0; i < count; ++i) {
      const auto event = static_cast<Event>(events[static_cast<size_t>(i)].data.u64);
      if (event == Event::kStop) {
        return true;
      }
      connections = connections || event == Event::kConnections;
      take(event);
    }
    parts_.server.serve(connections);
    if (is_due_) {
      parts_.claims.tick(Clock::now());
    }
  }
}

void Loop::take(Event event) {
  eventfd_t rung = 0;
  switch (event) {
  case Event::kUpdate:
    take_updates();
    break;
  case Event::kLooked:
    (void)eventfd_read(parts_.health.looked_descriptor(), &rung);
    parts_.server.place_waiting();
    break;
  case Event::kStaged:
    parts_.claims.staged(parts_.stager.take(), Clock::now());
    parts_.server.place_waiting();
    break;
  case Event::kStageMoved:
    for (const std::string &target : parts_.stager.watch().take()) {
      parts_.claims.stage_again(target, Clock::now());
    }
    break;
  case Event::kWoken:
    (void)eventfd_read(parts_.doorbell.descriptor(), &rung);
    is_due_ = true;
    break;
  case Event::kStop:
  case Event::kConnections:
    break;
  }
}

void Loop::take_updates() {
  const Exchange::Arrived arrived = parts_.exchange.take();
  const auto now = Clock::now();
  if (arrived.mounts) {
    parts_.table.look_at_mounts(now);
    parts_.table.tick(now);
  }
  for (const auto &[id, idle] : arrived.moved) {
    parts_.table.rest(id, idle);
  }
  for (const auto &[id, closed] : arrived.ended) {
    parts_.table.end(id, closed);
  }
  for (const ServiceUpdate &update : arrived.updates) {
    parts_.table.apply(update, now);
    parts_.claims.apply(update, now);
  }
  parts_.table.show(now);
  if (arrived.mounts || !arrived.updates.empty()) {
    parts_.server.place_waiting();
  }
}

int Loop::milliseconds_to_next() const {
  auto next = parts_.claims.due();
  if (const auto due = parts_.server.due()) {
    next = std::min(next, *due);
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(std::clamp<long long>(wait.count(), 0, 60000));
}

} // namespace ses::agent
