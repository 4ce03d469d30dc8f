// Copies the files it is given, several at once, and reports what became of each.
#ifndef SES_COPY_RUNNER_H
#define SES_COPY_RUNNER_H

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "batch/report.h"
#include "batch/thread_pool.h"
#include "bytes/working_ways.h"
#include "file/file_copy.h"

namespace ses::copy {

class Runner {
public:
  Runner(const CopyOptions &options, std::optional<Way> only, unsigned jobs, Report &report);

  // Waits while too many files are queued.
  void give(Entry source, Entry target, const struct stat &file, Name name);

  // Waits until all is copied.
  void wait();

  // Ends the report; the exit status.
  int finish();

private:
  void begin(const Entry &source, const Entry &target, Name name);
  void work(FileCopy &copy);
  template <typename Action> void guarded(Action action);
  void show(const std::stop_token &over);

  const CopyOptions &options_;
  const unsigned jobs_;
  WorkingWays ways_;
  Report &report_;
  std::atomic<std::uint64_t> moved_{0};
  std::jthread shown_;
  ThreadPool pool_;
};

} // namespace ses::copy

#endif // SES_COPY_RUNNER_H
