#include "server/socket_server.h"

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

#include "claims/lookup.h"
#include "lustre/placement.h"
#include "node/heartbeat.h"
#include "processes/identity.h"
#include "processes/proc_files.h"
#include "systems/stage.h"

namespace ses::agent {
namespace {

constexpr std::chrono::milliseconds kAskWithin{1000};
constexpr std::chrono::milliseconds kReportWithin{10000}; // a create on a busy disk takes a while
constexpr size_t kMaxMessage = std::max(sizeof(ses_ask), sizeof(ses_report));
constexpr size_t kMaxReady = 1024;    // looked at, to let users take turns
constexpr size_t kMaxServed = 128;    // between two looks at what is ready
constexpr size_t kMaxLookedAt = 4096; // connections, most of them turned away
constexpr uint64_t kListener = 0, kStop = 1, kUpdate = 2, kLooked = 3, kStaged = 4, kWoken = 5,
                   kStageMoved = 6;
constexpr uint64_t kFirstConnection = 16;

bool watch(int epoll, int fd, uint64_t data, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

} // namespace

SocketServer::SocketServer(const Parts &parts)
    : parts_(parts), epoll_(epoll_create1(EPOLL_CLOEXEC)),
      connections_(kFirstConnection, parts.most_connections), limit_(parts.asks_per_second) {}

bool SocketServer::run() {
  if (!watch(epoll_.get(), parts_.listener, kListener, EPOLLIN) ||
      !watch(epoll_.get(), parts_.stop_signals, kStop, EPOLLIN) ||
      !watch(epoll_.get(), parts_.exchange.descriptor(), kUpdate, EPOLLIN) ||
      !watch(epoll_.get(), parts_.health.looked_descriptor(), kLooked, EPOLLIN) ||
      !watch(epoll_.get(), parts_.stager.ready_descriptor(), kStaged, EPOLLIN) ||
      !watch(epoll_.get(), parts_.doorbell.descriptor(), kWoken, EPOLLIN)) {
    return false;
  }
  (void)watch(epoll_.get(), parts_.stager.watch().descriptor(), kStageMoved, EPOLLIN);
  std::array<epoll_event, kMaxReady> events{};
  for (;;) {
    std::vector<Id> ready;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 milliseconds_to_next());
    const Turn turn(Duty::kServer);
    bool is_due = Clock::now() >= parts_.claims.due();
    for (int i = 0; i < count; ++i) {
      const uint64_t what = events[static_cast<size_t>(i)].data.u64;
      eventfd_t rung = 0;
      if (what == kStop) {
        return true;
      }
      if (what == kListener) {
        accept_some();
      } else if (what == kUpdate) {
        take_updates();
      } else if (what == kLooked) {
        (void)eventfd_read(parts_.health.looked_descriptor(), &rung);
        place_waiting();
      } else if (what == kStaged) {
        parts_.claims.staged(parts_.stager.take(), Clock::now());
        place_waiting();
      } else if (what == kStageMoved) {
        for (const std::string &target : parts_.stager.watch().take()) {
          parts_.claims.stage_again(target, Clock::now());
        }
      } else if (what == kWoken) {
        (void)eventfd_read(parts_.doorbell.descriptor(), &rung);
        is_due = true;
      } else {
        ready.push_back(what);
      }
    }
    serve_in_turn(std::move(ready));
    drop_overdue();
    bin_.empty();
    if (is_due) {
      parts_.claims.tick(Clock::now());
    }
  }
}

void SocketServer::take_updates() {
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
    place_waiting();
  }
}

int SocketServer::milliseconds_to_next() const {
  auto next = parts_.claims.due();
  if (const auto due = connections_.first_due()) {
    next = std::min(next, due->first);
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(std::clamp<long long>(wait.count(), 0, 60000));
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

// The service may say it soon, or somebody looks whether it is there: a service that is not there
// may have come since the last look.
bool SocketServer::has_to_wait(const Connection &connection, Systems::Answer known,
                               const StorageSystem &system) {
  const auto number = parts_.table.number_of(system.name);
  const bool knows_all = known == Systems::Answer::kManaged && number &&
                         parts_.claims.needs_of(connection.peer.uid) != nullptr;
  if (!knows_all && (parts_.health.available() || parts_.health.needed(parts_.announcer.pace()))) {
    return true;
  }
  if (number && !parts_.table.has_places(*number)) {
    return true;
  }
  bool is_final = true;
  if (number) {
    (void)parts_.claims.not_staged(connection.peer.uid, *number, is_final);
  }
  return !is_final;
}

void SocketServer::place(Id id, bool is_final) {
  if (!is_waiting(id)) {
    return;
  }
  const Connection *connection = connections_.find(id);
  StorageSystem system;
  const Systems::Answer known = parts_.systems.find(connection->ask.device, system);
  if (known == Systems::Answer::kNotManaged) {
    answer(id, SES_ANSWER_NOT_MANAGED);
    return;
  }
  parts_.claims.asked(connection->peer.uid, Clock::now());
  // A pool is part of a layout that is not among what files need.
  const bool other_layout = !connection->ask.pool.empty() && system.backend != SES_BACKEND_MERGERFS;
  if (other_layout || parts_.announcer.overloaded_by(connection->peer.uid)) {
    answer(id, SES_ANSWER_UNAVAILABLE);
    return;
  }
  if (!is_final && has_to_wait(*connection, known, system)) {
    return;
  }
  if (const auto placement = choose(*connection, system)) {
    give(id, *placement);
  } else {
    answer(id, SES_ANSWER_UNAVAILABLE);
  }
}

std::optional<Placement> SocketServer::choose(const Connection &connection,
                                              const StorageSystem &system) {
  const auto number = parts_.table.number_of(system.name);
  if (!number) {
    return std::nullopt;
  }
  const uid_t uid = connection.peer.uid;
  const Ask &ask = connection.ask;
  auto needs = parts_.claims.needs_of(uid);
  needs = needs ? needs : parts_.claims.site_needs();
  const Need *need = needs ? needs->of(connection.ask.application) : nullptr;
  bool is_final = true;
  uint32_t stated = 0;
  const auto merged = merge(need, ask.requirements, ask.expected_bytes, ask.stripe_count, stated);
  auto choice = std::make_shared<Choice>(parts_.table.choose(
      *number, merged, parts_.claims.not_staged(uid, *number, is_final), ask.rank, Clock::now()));
  if (choice->rows.empty()) {
    return std::nullopt;
  }
  choice->needs = needs;
  choice->stated = stated;
  choice->digest = need != nullptr ? need->digest : 0;
  choice->offline = !parts_.health.available();
  choice->application = connection.ask.application;
  Placement placement;
  placement.id = std::max<uint64_t>(random_(), 1);
  placement.backend = system.backend;
  placement.distance = distance_of(*choice);
  auto origin = std::make_shared<Origin>();
  std::vector<std::string> targets;
  for (const uint8_t row : choice->rows) {
    const ElementFacts &facts = choice->epoch->facts->rows[row];
    origin->elements.push_back(facts.element);
    targets.push_back(facts.target);
  }
  placement.element = origin->elements.front();
  placement.target = targets.front();
  if (system.backend == SES_BACKEND_LUSTRE) {
    if (!place_on_lustre(targets, placement)) {
      return std::nullopt;
    }
    parts_.lustre.write_as(parts_.lustre_form, system.name, placement);
  } else {
    placement.stage = stage_path(placement.target, uid);
    placement.stage_in_union = stage_path(system.mount_point, uid);
    placement.least_free = least_free_of(*choice);
  }
  origin->placed_at = choice->decided_at;
  origin->expected_bytes = ask.expected_bytes;
  origin->distance = placement.distance;
  placement.origin = std::move(origin);
  if (!parts_.table.place(placement.id, *number, choice->epoch->facts, choice->rows,
                          choice->need)) {
    return std::nullopt;
  }
  parts_.table.show(Clock::now());
  placement.choice = std::move(choice);
  return placement;
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
    if (report.created) {
      created(connection, placement, report, std::move(handle));
    } else {
      parts_.table.end(placement.id, false);
      if (is_of_element(report.error)) {
        parts_.claims.failed(connection.peer.uid, placement.target, report.error, Clock::now());
      }
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
  file.application = connection.ask.application;
  file.origin = placement.origin;
  file.choice = placement.choice;
  if (file.id.device != connection.ask.device) {
    spdlog::debug("uid {} reported a file on another device than it asked about", file.uid);
    parts_.table.end(placement.id, false);
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
    StorageSystem system;
    if (parts_.systems.find(file.id.device, system) == Systems::Answer::kManaged) {
      parts_.finder.learn(system.mount_point, file.path);
    }
  }
  parts_.watcher.watch(std::move(file));
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
  logged_full_ = logged_full_ && connections_.size() > parts_.most_connections / 4;
  if (connection.given) {
    parts_.table.end(connection.given->id, false);
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
