// The options of the command line.
#ifndef SES_AGENT_OPTIONS_H
#define SES_AGENT_OPTIONS_H

#include <chrono>
#include <string>
#include <vector>

#include "rules/rules_publisher.h"
#include "ses/protocol.h"

namespace ses::agent {

struct Options {
  std::vector<std::string> service_urls; // any of them will do
  std::string token_file;                // empty: no token is sent
  bool munge = false;                    // sessions for MUNGE credentials instead of a token
  std::string munge_socket;              // empty: MUNGE's own default
  std::string ca_file;                   // empty: the system's certificate authorities
  std::string certificate;               // shown to the service; empty: none
  std::string key;
  std::string service_user; // who may listen on this machine, besides root and the agent's user
  std::string socket_path;
  std::string node;
  std::string state_dir;
  std::string jobs_dir = "/run/ses/jobs";
  Rules rules;
  ses_lustre_form lustre_form = SES_LUSTRE_POOL; // of OSTs
  std::string log_level = "info";
  int core = -1;                    // the loop stays on this core and polls; -1: on any, and sleeps
  bool sleep = false;               // on that core, too
  unsigned asks_per_second = 20000; // of one user
  std::chrono::milliseconds answer_limit{15}; // longest wait of a program for the service
};

// Reads the command line.  Ends the process after --help, --version (status 0) or a wrong option
// (status 2, the reason on stderr).
[[nodiscard]] Options parse_options(int argc, char **argv);

} // namespace ses::agent

#endif // SES_AGENT_OPTIONS_H
