// How long the calling thread has used a processor.
#ifndef SES_AGENT_PROCESSOR_TIME_H
#define SES_AGENT_PROCESSOR_TIME_H

#include <time.h>

#include <chrono>

namespace ses::agent {

[[nodiscard]] inline std::chrono::nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

} // namespace ses::agent

#endif // SES_AGENT_PROCESSOR_TIME_H
