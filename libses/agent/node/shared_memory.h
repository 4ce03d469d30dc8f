// Why shared memory is not available, in words.
#ifndef SES_AGENT_SHARED_MEMORY_H
#define SES_AGENT_SHARED_MEMORY_H

#include <cstdint>
#include <string>

namespace ses::agent {

// What STATUS of ses/segment.h means for the segment of KEY (0: it has none), and the next step.
[[nodiscard]] std::string why_no_segment(int status, int32_t key);

} // namespace ses::agent

#endif // SES_AGENT_SHARED_MEMORY_H
