// ses-agent: starts the parts, waits for the end, stops them in order.

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "announcements/announcer.h"
#include "claims/claims_manager.h"
#include "claims/doorbell.h"
#include "claims/finder.h"
#include "files/given_places.h"
#include "files/watcher.h"
#include "node/log.h"
#include "node/may_hang.h"
#include "node/mountinfo.h"
#include "options.h"
#include "processes/survey.h"
#include "rates/readers.h"
#include "rules/rules_publisher.h"
#include "server/listener.h"
#include "server/loop.h"
#include "server/socket_server.h"
#include "service/client.h"
#include "service/health.h"
#include "service/watchdog.h"
#include "system/munge.h"
#include "system/visible.h"
#include "systems/housekeeper.h"
#include "systems/stager.h"
#include "systems/systems.h"
#include "systems/union_health.h"
#include "table/exchange.h"
#include "table/file_place.h"
#include "table/saved_state.h"
#include "table/table_manager.h"

namespace ses::agent {
namespace {

constexpr int kCannotStart = 1;
constexpr int kWrongUse = 2;
constexpr int kNiceness = -10;
constexpr size_t kMaxWatched = 65536;
constexpr rlim_t kDescriptors = 262144;
constexpr size_t kMaxConnections = 2048;
constexpr int kKeptMemory = 2 << 20;
constexpr std::chrono::milliseconds kLastClaims{1000};
constexpr std::chrono::seconds kLastReports{3};
constexpr std::chrono::seconds kSaveEvery{30}; // on nodes that idle, too, tables change
constexpr unsigned kStopSeconds = 10;          // then SIGALRM ends a stop whose last step hangs
// From the signal on: a thread that has stalled is not waited for any longer than that.
constexpr std::chrono::seconds kThreadsEndWithin{3}, kWatcherEndsWithin{4}, kAnnouncerEndsWithin{8};

int refuse(int status, const std::string &why) {
  std::fprintf(stderr, "ses-agent: %s\n", visible(why).c_str());
  return status;
}

// As many descriptors as allowed: two per watched file, one per waiting program.
size_t raise_descriptor_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit wanted{std::max(limit.rlim_max, kDescriptors),
                      std::max(limit.rlim_max, kDescriptors)};
  if (setrlimit(RLIMIT_NOFILE, &wanted) != 0) { // only root may raise the upper limit
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

// Memory of one batch of reports is kept for the next: to give it back and to touch it anew costs
// more than the rest of a batch.
void keep_memory() {
  mallopt(M_TRIM_THRESHOLD, kKeptMemory);
  mallopt(M_MMAP_THRESHOLD, kKeptMemory);
}

// Programs wait for the answers, so on a busy node the agent goes before them.  Needs root; without
// it the agent takes its turn.
void go_first() { (void)setpriority(PRIO_PROCESS, 0, kNiceness); }

// Signals that end the agent, as something to read; blocked in every thread.
UniqueFd take_stop_signals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  return UniqueFd(signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Keeps this thread on CORE; -1: on any.
bool stay_on(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (core >= 0) {
    CPU_SET(static_cast<size_t>(core), &cores);
  }
  return core < 0 || sched_setaffinity(0, sizeof cores, &cores) == 0;
}

// Runs CALL on a thread of its own, which may be left behind; ready when it has returned.
std::future<void> apart(std::function<void()> call) {
  std::packaged_task<void()> task(std::move(call));
  std::future<void> returned = task.get_future();
  std::thread(std::move(task)).detach();
  return returned;
}

std::set<dev_t> devices_of(const Systems &systems) {
  std::set<dev_t> devices;
  for (const auto &[device, system] : systems.all_mounted()) {
    devices.insert(device);
  }
  return devices;
}

// Where a file lies that programs read.
std::optional<Readers::Place> place_of(const Systems &systems, const WritingOut &elements,
                                       dev_t device, int handle) {
  StorageSystem system;
  if (handle < 0 || systems.find(device, system) != Systems::Answer::kManaged) {
    return Readers::Place();
  }
  const auto targets = ask_storage(device, [backend = system.backend, copy = copy_of(handle)] {
    return targets_of_file(backend, copy->get());
  });
  if (!targets) {
    return std::nullopt;
  }
  for (const std::string &target : *targets) {
    if (std::string element = elements.element_at(system.name, target); !element.empty()) {
      return Readers::Place{system.name, std::move(element)};
    }
  }
  return Readers::Place();
}

int serve(const Options &options, Services &services, Token &token, const Trust &trust,
          std::unique_ptr<Listener> listener, int stop_signals) {
  const size_t descriptors = raise_descriptor_limit();
  std::string no_rules;
  const RulesPublisher rules(options.socket_path, options.rules, no_rules);
  if (!no_rules.empty()) {
    spdlog::error("programs do not know which files are not to be placed: {}", no_rules);
    return kCannotStart;
  }
  Systems systems;
  ServiceHealth health(services, options.socket_path + ".service");
  SavedState saved(options.state_dir);
  if (auto known = parse_storage_systems(saved.systems())) {
    systems.describe(std::move(*known));
  }
  Exchange exchange;
  LustreHealth lustre(LustreHealth::of_this_node(
      [&systems] { return systems.mounted(SES_BACKEND_LUSTRE); }, read_mountinfo));
  UnionHealth unions([&systems] { return systems.mounted(SES_BACKEND_MERGERFS); });
  WritingOut writing_out;
  TableManager table(
      {options.socket_path, systems, lustre, unions, options.lustre_form, exchange, writing_out});
  if (std::string why; !table.open(why)) {
    spdlog::error("there is no memory for a table of candidates: {}", why);
    return kCannotStart;
  }
  lustre.start();
  unions.start();
  Announcer announcer({services, token, trust, options.node, health, exchange, saved});
  Watcher watcher(announcer, writing_out, options.jobs_dir,
                  std::min<size_t>(descriptors / 3, kMaxWatched),
                  static_cast<int>(std::min<size_t>(descriptors - descriptors / 8, INT_MAX)));
  GivenPlaces places(announcer);
  Readers readers(
      {[&systems] { return devices_of(systems); },
       [&systems, &writing_out](dev_t device, int handle) {
         return place_of(systems, writing_out, device, handle);
       },
       [&announcer](const std::set<FileId> &files) { return announcer.streams_of(files); },
       [&announcer](std::vector<Reading> reading) { announcer.reading(std::move(reading)); }});
  Housekeeper housekeeper(services, token, trust, health, systems,
                          {[&announcer] { announcer.heartbeat_now(); },
                           [&saved](const std::string &text) {
                             saved.set_systems(text);
                             saved.save(kSaveEvery);
                           },
                           [&exchange] { exchange.mounts_changed(); },
                           [&announcer] { return announcer.pace(); }});
  Finder finder(watcher, exchange, options.jobs_dir);
  Stager stager(
      unions, [&housekeeper](const std::string &target) { housekeeper.sweep_from_now_on(target); });
  Doorbell doorbell(table.publisher().asleep());
  Survey survey(options.jobs_dir);
  UserStages stages({table, announcer, stager});
  ClaimedFiles files({table, systems, stages, health, announcer, finder});
  ClaimsManager claims({table, stages, files, health, announcer, exchange, doorbell, survey,
                        options.core >= 0 && !options.sleep});
  Chooser chooser({systems, lustre, options.lustre_form, health, announcer, table, claims});
  PlacementReports reports({systems, watcher, finder, table, claims});
  SocketServer server({listener->descriptor(), std::min<size_t>(descriptors / 4, kMaxConnections),
                       options.answer_limit, options.asks_per_second, chooser, reports});
  Loop loop({stop_signals, server, health, exchange, stager, doorbell, table, claims});
  table.apply_saved(saved.tables(), Clock::now());
  table.look_at_mounts(Clock::now());
  claims.apply_saved(saved.needs());
  claims.adopt(Clock::now()); // before the service learns what is open here
  survey.start();
  places.start();
  announcer.start({[&watcher](std::vector<LedgerFile> files) { watcher.compare(std::move(files)); },
                   [&places](std::vector<LedgerFile> given) { places.take(std::move(given)); },
                   [&places](const std::vector<uint64_t> &unknown) { places.forget(unknown); }});
  housekeeper.start();
  readers.start();
  Watchdog watchdog(health, [&announcer] { announcer.heartbeat_now(); });
  spdlog::info("ses-agent {} answers on {} for node {}", SES_AGENT_VERSION, options.socket_path,
               options.node);
  if (!stay_on(options.core)) { // the other threads have begun: they stay off it
    spdlog::error("--core {}: {}", options.core, std::strerror(errno));
    return kCannotStart;
  }
  if (!loop.run()) {
    spdlog::error("the event loop cannot start: {}", std::strerror(errno));
    return kCannotStart;
  }
  alarm(kStopSeconds);
  spdlog::info("stopping");
  listener.reset(); // from here on programs make the original call at once
  const auto begun = Clock::now();
  server.drop_all();
  claims.stop(kLastClaims);
  std::vector<std::future<void>> ends;
  ends.push_back(apart([&] { watchdog.stop(); }));
  ends.push_back(apart([&] { readers.stop(); }));
  ends.push_back(apart([&] { places.stop(); }));
  ends.push_back(apart([&] { survey.stop(); }));
  ends.push_back(apart([&] { finder.stop(kLastClaims); }));
  ends.push_back(apart([&] { stager.stop(); }));
  ends.push_back(apart([&] { lustre.stop(); }));
  ends.push_back(apart([&] { unions.stop(); }));
  ends.push_back(apart([&] { housekeeper.stop(); }));
  bool all_ended = true;
  const auto wait_for = [&](const std::future<void> &end, std::chrono::seconds limit) {
    all_ended = end.wait_until(begun + limit) == std::future_status::ready && all_ended;
  };
  for (const auto &end : ends) {
    wait_for(end, kThreadsEndWithin);
  }
  std::atomic<size_t> open_files = 0;
  wait_for(apart([&] { open_files = watcher.stop(); }), kWatcherEndsWithin); // what they found
  wait_for(apart([&] { announcer.stop(kLastReports); }), kAnnouncerEndsWithin);
  saved.save();
  spdlog::info("stopped; {} placed files are still open", open_files.load());
  if (!all_ended) {
    spdlog::warn("a thread that hangs is left behind; what the agent knows is saved");
    std::_Exit(0); // it may use anything of this
  }
  return 0;
}

int run(int argc, char **argv) {
  const Options options = parse_options(argc, argv);
  std::string why;
  Token token(options.token_file);
  if (why = token.load(); !why.empty()) {
    return refuse(kWrongUse, why);
  }
  std::vector<ServiceAddress> addresses;
  const bool secret = options.munge || !options.token_file.empty();
  for (const std::string &url : options.service_urls) {
    addresses.push_back(*parse_service_url(url, why)); // checked when the options were read
    if (secret && !addresses.back().loopback && !addresses.back().encrypted) {
      return refuse(kWrongUse, "what proves this node would travel to " + url +
                                   " in clear text; use https://, with --service-ca FILE for an "
                                   "authority of the site's own (ses-service tls init)");
    }
  }
  Services services(std::move(addresses));
  Trust trust{options.ca_file, options.certificate, options.key,
              TrustedUsers::of(options.service_user, why), nullptr};
  if (!why.empty()) {
    return refuse(kWrongUse, why);
  }
  if (options.munge) {
    if (ses_munge_load() != 0) {
      return refuse(kCannotStart, "--munge needs " SES_MUNGE_LIBRARY
                                  ", which cannot be loaded; install libmunge2 and munge");
    }
    trust.sessions =
        std::make_shared<Sessions>(options.munge_socket, options.node, services.size());
  }
  umask(022);
  keep_memory();
  const UniqueFd stop_signals = take_stop_signals();
  auto listener = Listener::open(options.socket_path, why);
  if (!listener) {
    return refuse(kCannotStart, why);
  }
  log_to_stderr(options.log_level);
  go_first();
  return serve(options, services, token, trust, std::move(listener), stop_signals.get());
}

} // namespace
} // namespace ses::agent

int main(int argc, char **argv) {
  try {
    return ses::agent::run(argc, argv);
  } catch (const std::exception &error) {
    return ses::agent::refuse(ses::agent::kCannotStart, error.what());
  }
}
