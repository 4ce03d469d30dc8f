#include "options.h"

#include <pwd.h>
#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "service/address.h"

namespace ses::agent {
namespace {

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) {
    return "";
  }
  return name;
}

std::string home_directory() {
  const char *named = std::getenv("HOME");
  if (named != nullptr && *named == '/') {
    return named;
  }
  const passwd *user = getpwuid(geteuid());
  return user != nullptr ? user->pw_dir : "";
}

std::string default_state_directory() {
  if (geteuid() == 0) {
    return "/var/lib/ses";
  }
  const char *state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') {
    return std::string(state) + "/ses";
  }
  return home_directory() + "/.local/state/ses";
}

std::string check_url(const std::string &url) {
  std::string why;
  return parse_service_url(url, why) ? "" : why;
}

} // namespace

Options parse_options(int argc, char **argv) {
  Options options;
  options.socket_path = SES_AGENT_SOCKET_DEFAULT;
  options.node = host_name();
  options.state_dir = default_state_directory();
  int answer_ms = static_cast<int>(options.answer_limit.count());

  CLI::App app{"Show the programs of one node where a file could be created.\n"
               "\n"
               "One daemon per node: keeps the table of candidates that programs choose from,\n"
               "answers those that ask, and reports files that are opened and closed to the\n"
               "selection service. Never makes a program wait longer than --answer-ms. Logs\n"
               "to standard error."};
  app.set_version_flag("--version", "ses-agent " SES_AGENT_VERSION);
  app.add_option("--service", options.service_urls,
                 "The selection service: https://HOST:8630,\n"
                 "unix:/run/qstorman/service.sock, or\n"
                 "http://127.0.0.1:8630 on this machine.  Given\n"
                 "several times, the first that answers is used, and\n"
                 "the others when it fails.  [required]")
      ->check(CLI::Validator(check_url, "URL"))
      ->option_text("URL");
  app.add_option("--token-file", options.token_file,
                 "File of mode 0600 with this node's token on one\n"
                 "line.  It is read again every 5 s on a small site,\n"
                 "every 3 min on the largest, and at once when the\n"
                 "token is refused")
      ->option_text("FILE");
  auto *munge = app.add_flag("--munge", options.munge,
                             "Prove this node by MUNGE instead of a token\n"
                             "(docs/munge.md); the agent must run as root")
                    ->excludes("--token-file")
                    ->option_text(" ");
  app.add_option("--munge-socket", options.munge_socket,
                 "Where munged listens.  [default: MUNGE's own]")
      ->needs(munge)
      ->option_text("PATH");
  app.add_option("--service-ca", options.ca_file,
                 "Certificate authorities (PEM) for an https\n"
                 "service, instead of the system's")
      ->check(CLI::ExistingFile)
      ->option_text("FILE");
  auto *certificate = app.add_option("--tls-cert", options.certificate,
                                     "Certificate (PEM) to show to a service that asks\n"
                                     "for one")
                          ->option_text("FILE");
  app.add_option("--tls-key", options.key, "Its key (PEM), mode 0600")
      ->needs(certificate)
      ->option_text("FILE");
  certificate->needs("--tls-key");
  app.add_option("--service-user", options.service_user,
                 "Who may be the service on this machine besides\n"
                 "root and the agent's own user: name or number.\n"
                 "[default: qstorman, where there is one]")
      ->option_text("USER");
  app.add_option("--socket", options.socket_path,
                 "Where programs ask.\n[default: " SES_AGENT_SOCKET_DEFAULT "]")
      ->option_text("PATH");
  app.add_option("--node", options.node,
                 "Name of this node in questions to the service.\n"
                 "[default: the host's name]")
      ->option_text("NAME");
  app.add_option("--state-dir", options.state_dir,
                 "Where the agent keeps what it knows of the\n"
                 "storage, to place files before any service\n"
                 "answers, and what it could not report before\n"
                 "it was stopped.\n"
                 "[default: /var/lib/ses for root, else\n"
                 "$XDG_STATE_HOME/ses or ~/.local/state/ses]")
      ->option_text("DIRECTORY");
  app.add_option("--answer-ms", answer_ms,
                 "Longest time a program that asks waits for the\n"
                 "service, in ms; needed only while the agent lacks\n"
                 "the table or the user's needs.  Then the agent\n"
                 "chooses by what it has, or the program makes the\n"
                 "original call.  [default: 15]")
      ->check(CLI::Range(1, 10000))
      ->option_text("MS");
  app.add_option("--asks-per-second", options.asks_per_second,
                 "Questions of one user that are answered in a\n"
                 "second; for files beyond that, programs make the\n"
                 "original call.  [default: 20000]")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  app.add_option("--jobs-dir", options.jobs_dir,
                 "Where Slurm's plugin or prolog says whose jobs\n"
                 "will run here (packaging/slurm); used when only\n"
                 "root or the agent's user can write it.\n"
                 "[default: /run/ses/jobs]")
      ->option_text("DIRECTORY");
  const CLI::Validator pattern(fault_of, "PATTERN");
  app.add_option("--include", options.rules.include,
                 "Place only files whose path fits one of these\n"
                 "patterns (docs/placement-rules.md); may be\n"
                 "repeated")
      ->check(pattern)
      ->allow_extra_args(false)
      ->option_text("PATTERN");
  app.add_option("--exclude", options.rules.exclude,
                 "Never place files whose path fits one of these\n"
                 "patterns; may be repeated")
      ->check(pattern)
      ->allow_extra_args(false)
      ->option_text("PATTERN");
  app.add_option("--exclude-program", options.rules.programs,
                 "Never place files of programs whose short name\n"
                 "fits one of these patterns, unless SES_APPLICATION\n"
                 "is set; may be repeated")
      ->check(pattern)
      ->allow_extra_args(false)
      ->option_text("PATTERN");
  std::string lustre_form = "pool";
  app.add_option("--lustre-form", lustre_form,
                 "How OSTs are written into layouts on Lustre: pool,\n"
                 "where a pool has just these members, else as a\n"
                 "list; list, exactly these, or the smallest pool\n"
                 "that holds them when that is refused; offset, a\n"
                 "hint where to begin.  [default: pool]")
      ->check(CLI::IsMember({"pool", "list", "offset"}))
      ->option_text("FORM");
  auto *core = app.add_option("--core", options.core,
                              "Take claims and answer questions on this core and\n"
                              "poll there, which the site keeps free of other\n"
                              "work (docs/sampling.md)")
                   ->check(CLI::Range(0, CPU_SETSIZE - 1))
                   ->option_text("N");
  app.add_flag("--sleep", options.sleep,
               "With --core: sleep there while nobody claims or\n"
               "asks")
      ->needs(core)
      ->option_text(" ");
  app.add_option("--log-level", options.log_level,
                 "Least severe message that is logged: debug, info,\n"
                 "warning or error.  [default: info]")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->option_text("LEVEL");

  try {
    app.parse(argc, argv);
    if (options.service_urls.empty()) { // required() would hide an option that is misspelled
      throw CLI::RequiredError("--service");
    }
  } catch (const CLI::ParseError &error) {
    const bool asked = error.get_exit_code() == 0; // --help or --version
    app.exit(error);
    std::exit(asked ? 0 : 2);
  }
  options.lustre_form = lustre_form == "pool"   ? SES_LUSTRE_POOL
                        : lustre_form == "list" ? SES_LUSTRE_LIST
                                                : SES_LUSTRE_OFFSET;
  options.answer_limit = std::chrono::milliseconds(answer_ms);
  return options;
}

} // namespace ses::agent
