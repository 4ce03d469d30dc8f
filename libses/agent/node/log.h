// The log: one event, one line.
#ifndef SES_AGENT_LOG_H
#define SES_AGENT_LOG_H

#include <string>

namespace ses::agent {

// Logs events of LEVEL and above to standard error.  Names in them are anybody's: what would steer
// a terminal or begin a line of its own is escaped, so callers log texts as they are.
void log_to_stderr(const std::string &level);

} // namespace ses::agent

#endif // SES_AGENT_LOG_H
