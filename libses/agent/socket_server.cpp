#include "socket_server.h"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <map>
#include <utility>

#include "identity.h"
#include "plan_lookup.h"
#include "proc_files.h"

namespace ses::agent {
namespace {

constexpr std::chrono::milliseconds kAskWithin{1000};
constexpr std::chrono::milliseconds kReportWithin{10000}; // a create on a busy disk takes a while
constexpr std::chrono::milliseconds kTick{100};           // while tickets can grow old
constexpr size_t kLongestMessage = std::max(sizeof(ses_ask), sizeof(ses_report));
constexpr size_t kMostReady = 1024;    // looked at, to let users take turns
constexpr size_t kMostServed = 128;    // between two looks at what is ready
constexpr size_t kMostLookedAt = 4096; // connections, most of them turned away
constexpr uint64_t kListener = 0, kStop = 1, kBooked = 2, kLooked = 3, kFirstConnection = 16;

bool watch(int epoll, int fd, uint64_t data, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

} // namespace

SocketServer::SocketServer(const Parts &parts)
    : parts_(parts), epoll_(epoll_create1(EPOLL_CLOEXEC)), tickets_(callbacks()),
      connections_(kFirstConnection, parts.most_connections), limit_(parts.asks_per_second) {}

TicketCache::Callbacks SocketServer::callbacks() {
  return {
      [this](const TicketKey &key, unsigned count) {
        return can_place_on(key.system) && parts_.booker.submit({key, count});
      },
      [this](Id id, const Placement &placement) { return deal(id, placement); },
      [this](Id id) { answer(id, SES_ANSWER_UNAVAILABLE); },
      [this](uid_t uid, const Placement &placement) {
        parts_.returns.give_back(uid, placement, EndReason::kUnused);
      },
      [this](const TicketKey &key) {
        return parts_.plans != nullptr ? parts_.plans->take(key, Clock::now()) : std::nullopt;
      },
      [this](const TicketKey &key, const Placement &placement) {
        return parts_.plans != nullptr && parts_.plans->put(key, placement, Clock::now());
      },
  };
}

bool SocketServer::can_place_on(const std::string &system) const {
  return parts_.health.available() || parts_.detached.ready(system);
}

bool SocketServer::run() {
  if (!watch(epoll_.get(), parts_.listener, kListener, EPOLLIN) ||
      !watch(epoll_.get(), parts_.stop_signals, kStop, EPOLLIN) ||
      !watch(epoll_.get(), parts_.booker.ready_descriptor(), kBooked, EPOLLIN) ||
      !watch(epoll_.get(), parts_.health.looked_descriptor(), kLooked, EPOLLIN)) {
    return false;
  }
  for (;;) {
    std::array<epoll_event, kMostReady> events{};
    std::vector<Id> ready;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 milliseconds_to_next());
    for (int i = 0; i < count; ++i) {
      const uint64_t what = events[static_cast<size_t>(i)].data.u64;
      if (what == kStop) {
        return true;
      }
      if (what == kListener) {
        accept_some();
      } else if (what == kBooked) {
        collect_bookings();
      } else if (what == kLooked) {
        look_is_over();
      } else {
        ready.push_back(what);
      }
    }
    serve_in_turn(std::move(ready));
    drop_overdue();
    tickets_.expire(Clock::now());
    if (parts_.plans != nullptr && Clock::now() >= parts_.plans->due()) {
      parts_.plans->tick(Clock::now());
    }
  }
}

int SocketServer::milliseconds_to_next() const {
  auto wait = tickets_.empty() ? std::chrono::milliseconds(60000) : kTick;
  if (const auto due = connections_.first_due()) {
    wait = std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(due->first - Clock::now()));
  }
  if (parts_.plans != nullptr) {
    const auto tick = parts_.plans->due() - Clock::now();
    wait = std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(tick));
  }
  return static_cast<int>(std::max<long long>(wait.count(), 0));
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
  for (size_t i = 0; i < std::min(turns.size(), kMostServed); ++i) {
    on_readable(turns[i].second);
  }
}

// Those that are turned away cost little and do not count: whoever fills the queue of connections
// with them must not keep others out of it.
void SocketServer::accept_some() {
  size_t taken = 0;
  for (size_t seen = 0; seen < kMostLookedAt && taken < kMostServed; ++seen) {
    UniqueFd fd(accept4(parts_.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      return;
    }
    ucred peer{};
    socklen_t length = sizeof peer;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
      continue;
    }
    if (!limit_.take(peer.uid, Clock::now())) {
      if (!std::exchange(said_flooded_, true)) {
        spdlog::warn("uid {} asks more than {} times a second: what goes beyond is turned away",
                     peer.uid, parts_.asks_per_second);
      }
      continue; // as below
    }
    if (!connections_.has_room_for(peer.uid)) {
      if (!said_full_) {
        spdlog::warn("too many connections, the last of uid {}: more are turned away", peer.uid);
        said_full_ = true;
      }
      continue; // closing it makes the program do the plain call at once
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
  std::array<std::byte, kLongestMessage + 1> buffer;
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

// A service that is not there may have come since the last look: programs wait for the next one as
// they wait for its decision.
void SocketServer::on_ask(Id id, Ask ask) {
  Connection &connection = *connections_.find(id);
  connection.asked_at = Clock::now();
  connection.ask = std::move(ask);
  StorageSystem system;
  if (parts_.systems.find(connection.ask.device, system) == Systems::Answer::kNotManaged ||
      parts_.health.available() || !parts_.health.needed(parts_.announcer.pace())) {
    place(id);
    return;
  }
  connection.state = State::kAwaitLook;
  connections_.set_deadline(id, connection.asked_at + patience(system.name));
  await_look_.push_back(id);
}

void SocketServer::look_is_over() {
  eventfd_t count = 0;
  (void)eventfd_read(parts_.health.looked_descriptor(), &count);
  for (const Id id : std::exchange(await_look_, {})) {
    if (const Connection *connection = connections_.find(id);
        connection != nullptr && connection->state == State::kAwaitLook) {
      place(id);
    }
  }
}

void SocketServer::place(Id id) {
  Connection &connection = *connections_.find(id);
  const Ask &ask = connection.ask;
  const uid_t uid = connection.peer.uid;
  StorageSystem system;
  const Systems::Answer known = parts_.systems.find(ask.device, system);
  if (known == Systems::Answer::kNotManaged) {
    answer(id, SES_ANSWER_NOT_MANAGED);
    return;
  }
  // A pool is a wish about the layout that the question to the service has no word for.
  const bool other_layout = !ask.pool.empty() && system.backend != SES_BACKEND_MERGERFS;
  parts_.announcer.user_seen(uid);
  if (known == Systems::Answer::kNotKnownYet || !can_place_on(system.name) || other_layout ||
      parts_.announcer.overloaded_by(uid)) {
    answer(id, SES_ANSWER_UNAVAILABLE);
    return;
  }
  TicketKey key;
  key.uid = uid;
  key.application = ask.application.empty() ? program_name(connection.peer.pid) : ask.application;
  connection.application = key.application;
  key.system = system.name;
  key.requirements = ask.requirements;
  key.expected_bytes = ask.expected_bytes;
  connection.state = State::kAwaitTicket;
  connection.key = key;
  connections_.set_deadline(id, connection.asked_at + patience(system.name));
  if (parts_.plans != nullptr && !key.expected_bytes) {
    parts_.plans->asked(key, Clock::now());
  }
  tickets_.ask(key, id, Clock::now());
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
  connection->key.reset();
  drop(id);
}

bool SocketServer::deal(Id id, const Placement &placement) {
  Connection *found = connections_.find(id);
  if (found == nullptr || found->state != State::kAwaitTicket) {
    return false;
  }
  Connection &connection = *found;
  const auto message =
      make_place_answer(placement, connection.ask.stripe_count, connection.ask.stripe_size);
  connection.key.reset();
  if (!message || send(connection.fd.get(), &*message, sizeof *message,
                       MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof *message) {
    drop(id);
    return false;
  }
  spdlog::debug("uid {} pid {}: placement {} on {}, distance {:.3f}", connection.peer.uid,
                connection.peer.pid, format_id(placement.id), printable(placement.element),
                placement.distance);
  connection.dealt = placement;
  connection.state = State::kAwaitReport;
  connections_.set_deadline(id, Clock::now() + kReportWithin);
  return true;
}

void SocketServer::on_report(Id id, const Report &report, UniqueFd handle) {
  Connection &connection = *connections_.find(id);
  if (report.placement_id == connection.dealt->id) {
    const Placement placement = std::move(*connection.dealt);
    connection.dealt.reset();
    if (report.created) {
      created(connection, placement, report, std::move(handle));
    } else {
      const bool failed = is_of_element(report.error);
      parts_.returns.give_back(connection.peer.uid, placement,
                               failed ? EndReason::kFailed : EndReason::kUnused);
    }
  } else {
    spdlog::debug("uid {} reported a placement that was not its own", connection.peer.uid);
  }
  drop(id);
}

// HANDLE, or else one to what the program has open now: it goes on while this runs and may close
// the file within microseconds.
void SocketServer::created(const Connection &connection, const Placement &placement,
                           const Report &report, UniqueFd handle) {
  PlacedFile file;
  file.placement_id = placement.id;
  file.uid = connection.peer.uid;
  file.pid = connection.peer.pid;
  if (report.fd < -1 && report.fd > INT_MIN && is_process_of(-report.fd, file.uid)) {
    file.maker = file.pid;
    file.pid = -report.fd;
  }
  file.id = FileId{static_cast<dev_t>(report.device), report.inode};
  file.application = connection.application;
  file.origin = placement.origin;
  if (file.id.device != connection.ask.device) {
    spdlog::debug("uid {} reported a file on another device than it asked about", file.uid);
    parts_.returns.give_back(file.uid, placement, EndReason::kFailed);
    return;
  }
  // Anybody can have an O_PATH descriptor of a file they may not read, so one that was sent has to
  // be of the sender's own file; one found in the process has been opened for something.
  const auto sent = facts_of(handle.get());
  if (!sent || sent->id != file.id || !sent->regular ||
      (file.uid != 0 && sent->owner != file.uid)) {
    handle = open_handle(file.pid, report.fd);
    const auto found = facts_of(handle.get());
    if (!found || found->id != file.id || !found->regular) {
      handle.reset();
    }
  }
  if (handle) {
    file.path = path_of(handle.get());
    file.handle = std::move(handle);
    if (parts_.plans != nullptr) {
      parts_.plans->created(file.id.device, file.path);
    }
  }
  parts_.watcher.watch(std::move(file));
}

void SocketServer::collect_bookings() {
  for (BookingResult &result : parts_.booker.take_results()) {
    for (const Placement &placement : result.unusable) {
      parts_.returns.give_back(result.key.uid, placement, EndReason::kFailed);
      if (parts_.plans != nullptr) {
        parts_.plans->unusable(placement.element, Clock::now());
      }
    }
    if (result.for_plan) {
      tickets_.serve(result.key, result.placements);
      parts_.plans->booked(std::move(result), Clock::now());
      continue;
    }
    if (result.waiter != 0) {
      for (const Placement &placement : result.placements) {
        if (deal(result.waiter, placement)) {
          tickets_.forget(result.key, result.waiter);
        }
      }
      continue;
    }
    tickets_.booked(result.key, result.outcome, std::move(result.placements), Clock::now());
  }
}

void SocketServer::drop_overdue() {
  const auto now = Clock::now();
  for (auto due = connections_.first_due(); due && due->first <= now;
       due = connections_.first_due()) {
    const Id id = due->second;
    Connection &connection = *connections_.find(id);
    if (connection.state == State::kAwaitLook) {
      place(id);
    } else if (connection.state == State::kAwaitTicket) {
      if (!connection.hurried && parts_.detached.ready(connection.key->system) &&
          parts_.booker.submit_alone(*connection.key, id)) {
        connection.hurried = true;
        connections_.set_deadline(id, connection.asked_at + parts_.answer_limit);
        continue;
      }
      tickets_.forget(*connection.key, id);
      answer(id, SES_ANSWER_UNAVAILABLE);
    } else {
      spdlog::debug("uid {} pid {} said nothing in time; dropped", connection.peer.uid,
                    connection.peer.pid);
      drop(id);
    }
  }
}

void SocketServer::drop(Id id) {
  const Connection connection = connections_.take(id);
  said_full_ = said_full_ && connections_.size() > parts_.most_connections / 4;
  if (connection.key) {
    tickets_.forget(*connection.key, id);
  }
  if (connection.dealt) {
    parts_.returns.give_back(connection.peer.uid, *connection.dealt, EndReason::kUnused);
  }
}

void SocketServer::give_everything_back() {
  while (const auto due = connections_.first_due()) {
    drop(due->second);
  }
  collect_bookings();
  tickets_.drain();
}

} // namespace ses::agent
