#include "server/socket_server.h"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

namespace ses::agent {
namespace {

constexpr std::chrono::milliseconds kAskWithin{1000};
constexpr std::chrono::milliseconds kReportWithin{10000}; // a create on a busy disk takes a while
constexpr size_t kMaxMessage = std::max(sizeof(ses_ask), sizeof(ses_report));
constexpr size_t kMaxReady = 1024;    // looked at, to let users take turns
constexpr size_t kMaxServed = 128;    // between two looks at what is ready
constexpr size_t kMaxLookedAt = 4096; // connections, most of them turned away
constexpr uint64_t kListener = 0, kFirstConnection = 1;

bool watch(int epoll, int fd, uint64_t data, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

} // namespace

SocketServer::SocketServer(const Parts &parts)
    : parts_(parts), epoll_(epoll_create1(EPOLL_CLOEXEC)),
      connections_(kFirstConnection, parts.max_connections), limit_(parts.asks_per_second) {
  (void)watch(epoll_.get(), parts_.listener, kListener, EPOLLIN);
}

void SocketServer::serve(bool some_ready) {
  if (some_ready) {
    std::array<epoll_event, kMaxReady> events{};
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    std::vector<Id> ready;
    for (int i = 0; i < count; ++i) {
      const uint64_t what = events[static_cast<size_t>(i)].data.u64;
      if (what == kListener) {
        accept_some();
      } else {
        ready.push_back(what);
      }
    }
    serve_in_turn(std::move(ready));
  }
  drop_overdue();
  bin_.empty();
}

std::optional<SocketServer::Time> SocketServer::due() const {
  const auto first = connections_.first_due();
  return first ? std::optional(first->first) : std::nullopt;
}

// The first of each user, then the second of each, and so on; what is left is ready again at once.
void SocketServer::serve_in_turn(std::vector<Id> ready) {
  std::map<uid_t, size_t> seen;
  std::vector<std::pair<size_t, Id>> turns;
  for (const Id id : ready) {
    if (const Connection *connection = connections_.find(id)) {
      turns.emplace_back(seen[connection->peer.uid]++, id);
    }
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto &a, const auto &b) { return a.first < b.first; });
  for (size_t i = 0; i < std::min(turns.size(), kMaxServed); ++i) {
    on_readable(turns[i].second);
  }
}

// Connections that are turned away cost little and do not count: a user who fills the queue with
// them must not keep other users out of it.
void SocketServer::accept_some() {
  size_t taken = 0;
  for (size_t seen = 0; seen < kMaxLookedAt && taken < kMaxServed; ++seen) {
    UniqueFd fd(accept4(parts_.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      return;
    }
    ucred peer{};
    socklen_t length = sizeof peer;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
      bin_.hang_up(std::move(fd));
      continue;
    }
    if (!limit_.take(peer.uid, Clock::now())) {
      if (!std::exchange(logged_flooded_, true)) {
        spdlog::warn("uid {} asks more than {} times a second: what goes beyond is turned away",
                     peer.uid, parts_.asks_per_second);
      }
      bin_.hang_up(std::move(fd)); // as below
      continue;
    }
    if (const auto other = connections_.gives_way_to(peer.uid)) {
      drop(*other);
    }
    if (!connections_.has_room_for(peer.uid)) {
      if (!logged_full_) {
        spdlog::warn("too many connections, the last of uid {}: more are turned away", peer.uid);
        logged_full_ = true;
      }
      bin_.hang_up(std::move(fd)); // which makes the program do the original call at once
      continue;
    }
    const int raw = fd.get();
    ++taken;
    const Id id = connections_.add(std::move(fd), peer, Clock::now() + kAskWithin);
    if (!watch(epoll_.get(), raw, id, EPOLLIN | EPOLLRDHUP)) {
      drop(id);
      continue;
    }
    on_readable(id); // most programs have asked by now
  }
}

void SocketServer::on_readable(Id id) {
  std::array<std::byte, kMaxMessage + 1> buffer;
  while (const Connection *connection = connections_.find(id)) {
    UniqueFd handle;
    const ssize_t length = receive(connection->fd.get(), buffer, handle, bin_);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (length <= 0) { // closed: a placement without a report was not used
      drop(id);
      return;
    }
    on_message(id, std::span(buffer).first(static_cast<size_t>(length)), std::move(handle));
  }
}

void SocketServer::on_message(Id id, std::span<const std::byte> message, UniqueFd handle) {
  const Connection &connection = *connections_.find(id);
  if (connection.state == State::kAwaitAsk) {
    if (auto ask = parse_ask(message)) {
      on_ask(id, std::move(*ask));
      return;
    }
  } else if (connection.state == State::kAwaitReport) {
    if (const auto report = parse_report(message)) {
      on_report(id, *report, std::move(handle));
      return;
    }
  }
  spdlog::debug("uid {} sent {} bytes that are no message of the protocol here; dropped",
                connection.peer.uid, message.size());
  drop(id);
}

void SocketServer::on_ask(Id id, Ask ask) {
  Connection &connection = *connections_.find(id);
  connection.ask = std::move(ask);
  connection.state = State::kAwaitChoice;
  connections_.set_deadline(id, Clock::now() + parts_.answer_limit);
  place(id, false);
  if (is_waiting(id)) {
    waiting_.push_back(id);
  }
}

bool SocketServer::is_waiting(Id id) {
  const Connection *connection = connections_.find(id);
  return connection != nullptr && connection->state == State::kAwaitChoice;
}

void SocketServer::place_waiting() {
  std::erase_if(waiting_, [this](Id id) {
    place(id, false);
    return !is_waiting(id);
  });
}

void SocketServer::place(Id id, bool is_final) {
  if (!is_waiting(id)) {
    return;
  }
  const auto chosen = parts_.chooser.choose(*connections_.find(id), is_final);
  if (!chosen) {
    return;
  }
  if (const auto *placement = std::get_if<Placement>(&*chosen)) {
    give(id, *placement);
  } else {
    answer(id, std::get<ses_answer_status>(*chosen));
  }
}

void SocketServer::answer(Id id, ses_answer_status status) {
  Connection *connection = connections_.find(id);
  if (connection == nullptr) {
    return;
  }
  const ses_answer message = make_refusal(status);
  spdlog::debug("uid {} pid {}: {}", connection->peer.uid, connection->peer.pid,
                status == SES_ANSWER_NOT_MANAGED ? "not managed" : "unavailable");
  (void)send(connection->fd.get(), &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
  drop(id);
}

void SocketServer::give(Id id, const Placement &placement) {
  Connection &connection = *connections_.find(id);
  connection.given = placement;
  const auto message =
      make_place_answer(placement, connection.ask.stripe_count, connection.ask.stripe_size);
  if (!message) {
    answer(id, SES_ANSWER_UNAVAILABLE);
    return;
  }
  if (send(connection.fd.get(), &*message, sizeof *message, MSG_DONTWAIT | MSG_NOSIGNAL) !=
      sizeof *message) {
    drop(id);
    return;
  }
  spdlog::debug("uid {} pid {}: placement {} on {}, distance {:.3f}", connection.peer.uid,
                connection.peer.pid, format_id(placement.id), placement.element,
                placement.distance);
  connection.state = State::kAwaitReport;
  connections_.set_deadline(id, Clock::now() + kReportWithin);
}

void SocketServer::on_report(Id id, const Report &report, UniqueFd handle) {
  Connection &connection = *connections_.find(id);
  if (report.placement_id == connection.given->id) {
    const Placement placement = std::move(*connection.given);
    connection.given.reset();
    parts_.reports.take(connection, placement, report, std::move(handle));
  } else {
    spdlog::debug("uid {} reported a placement that was not its own", connection.peer.uid);
  }
  drop(id);
}

void SocketServer::drop_overdue() {
  const auto now = Clock::now();
  for (auto due = connections_.first_due(); due && due->first <= now;
       due = connections_.first_due()) {
    const Id id = due->second;
    const Connection &connection = *connections_.find(id);
    if (connection.state == State::kAwaitChoice) {
      place(id, true);
    } else {
      spdlog::debug("uid {} pid {} sent nothing in time; dropped", connection.peer.uid,
                    connection.peer.pid);
      drop(id);
    }
  }
}

void SocketServer::drop(Id id) {
  Connection connection = connections_.take(id);
  logged_full_ = logged_full_ && connections_.size() > parts_.max_connections / 4;
  if (connection.given) {
    parts_.reports.unused(*connection.given);
  }
  // While it is looked at, epoll_wait() holds it, and might be the last that does.
  (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.fd.get(), nullptr);
  bin_.hang_up(std::move(connection.fd));
}

void SocketServer::drop_all() {
  while (const auto due = connections_.first_due()) {
    drop(due->second);
  }
}

} // namespace ses::agent
