// Copies the files it is given, several at once, and reports what became of each.
#ifndef SES_COPY_RUNNER_H
#define SES_COPY_RUNNER_H

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "batch/crew.h"
#include "batch/report.h"
#include "bytes/possible.h"
#include "file/file_copy.h"

namespace ses::copy {

class Runner {
public:
  Runner(const Manner &manner, std::optional<Way> only, unsigned jobs, Report &report);

  // Waits while too many files are in line.  EXISTS: there is a target already.
  void give(std::string source, std::string target, const struct stat &file, Name name);

  // Waits until all is copied.
  void wait();

  // Ends the report; the exit status.
  int finish();

private:
  void begin(const std::string &source, const std::string &target, Name name);
  void work(FileCopy &copy);
  template <typename Action> void guarded(Action action);
  void show(const std::stop_token &over);

  const Manner &manner_;
  const unsigned jobs_;
  Possible possible_;
  Report &report_;
  std::atomic<std::uint64_t> moved_{0};
  std::jthread shown_;
  Crew crew_;
};

} // namespace ses::copy

#endif // SES_COPY_RUNNER_H
