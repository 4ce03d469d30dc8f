// ses-agent: starts the parts, waits for the end, stops them in order.

#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
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
#include <memory>

#include "announcer.h"
#include "booker.h"
#include "detached.h"
#include "housekeeper.h"
#include "listener.h"
#include "options.h"
#include "plan_finder.h"
#include "plan_keeper.h"
#include "plan_survey.h"
#include "returns.h"
#include "rules_board.h"
#include "service_client.h"
#include "service_health.h"
#include "socket_server.h"
#include "systems.h"
#include "watcher.h"

namespace ses::agent {
namespace {

constexpr int kCannotStart = 1;
constexpr int kWrongUse = 2;
constexpr int kNiceness = -10;
constexpr size_t kMostWatched = 65536;
constexpr rlim_t kDescriptors = 262144;
constexpr size_t kMostConnections = 2048;
constexpr std::chrono::milliseconds kLastPlanReports{1000};
constexpr std::chrono::seconds kLastReports{3};
constexpr unsigned kStopSeconds = 10; // then SIGALRM ends a stop that hangs on a dead file system

int refuse(int status, const std::string &why) {
  std::fprintf(stderr, "ses-agent: %s\n", why.c_str());
  return status;
}

void set_up_log(const Options &options) {
  const auto logger = options.background
                          ? spdlog::syslog_logger_mt("ses-agent", "ses-agent", LOG_PID)
                          : spdlog::stderr_logger_mt("ses-agent");
  if (!options.background) {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
  }
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(logger);
  spdlog::set_level(spdlog::level::from_str(options.log_level));
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

int serve(const Options &options, Services &services, Token &token,
          std::unique_ptr<Listener> listener, int stop_signals) {
  const size_t descriptors = raise_descriptor_limit();
  std::string no_rules;
  const RulesBoard rules(options.socket_path, options.rules, no_rules);
  if (!no_rules.empty()) {
    spdlog::error("programs do not know which files are not to be placed: {}", no_rules);
    return kCannotStart;
  }
  Systems systems;
  ServiceHealth health(services);
  Detached detached(options.state_dir);
  Announcer announcer({services, token, options.ca_file, options.node, health});
  Watcher watcher(announcer, std::min<size_t>(descriptors / 3, kMostWatched),
                  static_cast<int>(std::min<size_t>(descriptors - descriptors / 8, INT_MAX)));
  Housekeeper housekeeper(services, token, options.ca_file, health, systems,
                          {[&announcer] { announcer.service_found(); },
                           [&detached](const std::string &text) {
                             detached.set_systems(text);
                             detached.save();
                           },
                           [&announcer] { return announcer.pace(); }});
  Booker booker(
      {services, token, options.ca_file, options.node, health, detached, options.lustre_form},
      systems, housekeeper);
  const Returns returns(announcer, detached);
  PlanFinder finder(watcher, returns);
  PlanSurvey survey(options.jobs_dir);
  PlanKeeper plans(
      {options.socket_path, systems, health, detached, booker, announcer, returns, finder, survey});
  SocketServer server({listener->descriptor(), stop_signals,
                       std::min<size_t>(descriptors / 4, kMostConnections), options.answer_limit,
                       options.asks_per_second, systems, health, detached, booker, announcer,
                       watcher, returns, options.plans ? &plans : nullptr});
  if (auto kept = parse_storage_systems(detached.kept_systems())) {
    systems.describe(std::move(*kept));
  }
  if (options.plans) {
    plans.adopt(); // before the service is told what is open here
    survey.start();
  }
  announcer.start({[&watcher](std::vector<LedgerFile> files) { watcher.compare(std::move(files)); },
                   [&plans](const auto &applications) { plans.set_applications(applications); },
                   [&plans](const auto &users) { plans.requirements_changed(users); },
                   [&plans](const auto &users) { plans.files_closed(users); },
                   [&detached](const std::string &text) { detached.set_snapshot(text); }});
  housekeeper.start();
  spdlog::info("ses-agent {} answers on {} for node {}", SES_AGENT_VERSION, options.socket_path,
               options.node);
  if (!server.run()) {
    spdlog::error("the event loop cannot start: {}", std::strerror(errno));
    return kCannotStart;
  }
  alarm(kStopSeconds);
  spdlog::info("stopping");
  listener.reset(); // from here on programs make the plain call at once
  survey.stop();
  booker.stop();
  server.give_everything_back();
  if (options.plans) {
    plans.stop(kLastPlanReports);
  }
  finder.stop(kLastPlanReports);
  housekeeper.stop();
  const size_t open_files = watcher.stop();
  announcer.stop(kLastReports);
  detached.save();
  spdlog::info("stopped; {} placed files are still open", open_files);
  return 0;
}

int run(int argc, char **argv) {
  const Options options = parse_options(argc, argv);
  std::string why;
  std::vector<ServiceAddress> addresses;
  bool exposed = false;
  for (const std::string &url : options.service_urls) {
    addresses.push_back(*parse_service_url(url, why)); // checked when the options were read
    exposed = exposed || (!addresses.back().loopback && !addresses.back().encrypted);
  }
  Services services(std::move(addresses));
  Token token(options.token_file);
  if (why = token.load(); !why.empty()) {
    return refuse(kWrongUse, why);
  }
  umask(022);
  const UniqueFd stop_signals = take_stop_signals();
  auto listener = Listener::open(options.socket_path, why);
  if (!listener) {
    return refuse(kCannotStart, why);
  }
  if (options.background && daemon(0, 0) != 0) {
    return refuse(kCannotStart, std::string("cannot detach: ") + std::strerror(errno));
  }
  set_up_log(options);
  go_first();
  if (exposed && !options.token_file.empty()) {
    spdlog::warn("the token travels unencrypted to a service on another machine; use https");
  }
  return serve(options, services, token, std::move(listener), stop_signals.get());
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
