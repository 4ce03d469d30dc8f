// The element of its storage system on which an existing file lies, as the file system reports it.
//
// Asking may wait for the file system.
#ifndef SES_AGENT_FILE_PLACE_H
#define SES_AGENT_FILE_PLACE_H

#include <cstdint>
#include <string>
#include <vector>

namespace ses::agent {

// The targets (ElementFacts) that the file of HANDLE may lie on, on a system of BACKEND (enum
// ses_backend): the branch of a union; on Lustre the OST of its first stripe, and its pool.  Empty:
// not known.
[[nodiscard]] std::vector<std::string> targets_of_file(uint32_t backend, int handle);

} // namespace ses::agent

#endif // SES_AGENT_FILE_PLACE_H
