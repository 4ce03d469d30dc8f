// Small files of the agent: for its next start, and for ses doctor.
#ifndef SES_AGENT_OWN_FILE_H
#define SES_AGENT_OWN_FILE_H

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace ses::agent {

// Empty when there is none, or when it is larger than MOST, no regular file, or not the agent's
// alone.
[[nodiscard]] std::string read_own(const std::string &path, size_t most);
// To another file first; makes the DIRECTORY.  Returns nothing, or why it is not written.
[[nodiscard]] std::string write_own(const std::string &directory, const std::string &name,
                                    const std::string &text, mode_t mode = 0600);

} // namespace ses::agent

#endif // SES_AGENT_OWN_FILE_H
