#include "options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "service/client.h"

namespace ses::agent {
namespace {

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) {
    return "";
  }
  return name;
}

std::string default_state_directory() {
  if (geteuid() == 0) {
    return "/var/lib/ses";
  }
  const char *state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') {
    return std::string(state) + "/ses";
  }
  const char *home = std::getenv("HOME");
  return std::string(home != nullptr && *home == '/' ? home : "/tmp") + "/.local/state/ses";
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

  CLI::App app{
      "Show the programs of one node where a file could be created.\n\n"
      "One daemon per node: keeps the table of candidates that programs choose from, answers\n"
      "those that ask, and tells the selection service when files are opened and closed.\n"
      "Never makes a program wait longer than --answer-ms.  Logs to standard error."};
  app.set_version_flag("--version", "ses-agent " SES_AGENT_VERSION);
  app.add_option("--service", options.service_urls,
                 "The selection service: https://HOST:8630, unix:/run/qstorman/service.sock, or\n"
                 "http://127.0.0.1:8630 on this machine.  Given several times, the first that\n"
                 "answers is used, and the others when it fails.  [required]")
      ->required()
      ->check(CLI::Validator(check_url, "URL"))
      ->option_text("URL");
  app.add_option("--token-file", options.token_file,
                 "File of mode 0600 with this node's token on one line; another that takes its\n"
                 "place is used from the third sign of life on, at once where the old one is\n"
                 "refused")
      ->option_text("FILE");
  app.add_option("--service-ca", options.ca_file,
                 "Certificate authorities (PEM) for an https service, instead of the system's")
      ->check(CLI::ExistingFile)
      ->option_text("FILE");
  auto *certificate = app.add_option("--tls-cert", options.certificate,
                                     "Certificate (PEM) to show to a service that asks for one")
                          ->option_text("FILE");
  app.add_option("--tls-key", options.key, "Its key (PEM), mode 0600")
      ->needs(certificate)
      ->option_text("FILE");
  certificate->needs("--tls-key");
  app.add_option("--service-user", options.service_user,
                 "Who may be the service on this machine besides root and the agent's own user:\n"
                 "name or number.  [default: qstorman, where there is one]")
      ->option_text("USER");
  app.add_option("--socket", options.socket_path,
                 "Where programs ask.  [default: " SES_AGENT_SOCKET_DEFAULT "]")
      ->option_text("PATH");
  app.add_option("--node", options.node,
                 "Name of this node in questions to the service.  [default: the host's name]")
      ->option_text("NAME");
  app.add_option("--state-dir", options.state_dir,
                 "Where the agent keeps what it knows of the storage, to place files before any\n"
                 "service answers.  [default: /var/lib/ses for root, else $XDG_STATE_HOME/ses or\n"
                 "~/.local/state/ses]")
      ->option_text("DIRECTORY");
  app.add_option(
         "--answer-ms", answer_ms,
         "Longest time a program that asks waits for the service, in ms; needed only while\n"
         "the agent lacks the table or the user's needs.  Then the agent chooses by what\n"
         "it has, or the program makes the plain call.  [default: 15]")
      ->check(CLI::Range(1, 10000))
      ->option_text("MS");
  app.add_option("--asks-per-second", options.asks_per_second,
                 "Questions of one user that are answered in a second; for files beyond that,\n"
                 "programs make the plain call.  [default: 20000]")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  app.add_option("--jobs-dir", options.jobs_dir,
                 "Where the job scheduler's prolog says whose jobs will run here\n"
                 "(packaging/slurm); used when it belongs to the agent's user alone.\n"
                 "[default: /run/ses/jobs]")
      ->option_text("DIRECTORY");
  const CLI::Validator pattern(fault_of, "PATTERN");
  app.add_option("--include", options.rules.include,
                 "Place only files whose path fits one of these patterns\n"
                 "(docs/placement-rules.md); may be repeated")
      ->check(pattern)
      ->allow_extra_args(false)
      ->option_text("PATTERN");
  app.add_option("--exclude", options.rules.exclude,
                 "Never place files whose path fits one of these patterns; may be repeated")
      ->check(pattern)
      ->allow_extra_args(false)
      ->option_text("PATTERN");
  app.add_option("--exclude-program", options.rules.programs,
                 "Never place files of programs whose short name fits one of these patterns,\n"
                 "unless SES_APPLICATION is set; may be repeated")
      ->check(pattern)
      ->allow_extra_args(false)
      ->option_text("PATTERN");
  std::string lustre_form = "pool";
  app.add_option("--lustre-form", lustre_form,
                 "How OSTs are written into layouts on Lustre: pool, where a pool has just these\n"
                 "members, else as a list; list, exactly these, or the smallest pool that holds\n"
                 "them when that is refused; offset, a hint where to begin.  [default: pool]")
      ->check(CLI::IsMember({"pool", "list", "offset"}))
      ->option_text("FORM");
  app.add_option("--log-level", options.log_level,
                 "Least severe message that is logged: debug, info, warning or error.\n"
                 "[default: info]")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->option_text("LEVEL");

  try {
    app.parse(argc, argv);
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
