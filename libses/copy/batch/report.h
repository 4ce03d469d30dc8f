// What a run has done, for a person while it runs and at its end, and as JSON.
#ifndef SES_COPY_REPORT_H
#define SES_COPY_REPORT_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bytes/working_ways.h"
#include "file/file_copy.h"

namespace ses::copy {

// Every function may be called from any thread.
class Report {
public:
  // PROGRAM begins each line on standard error.  VERBOSE: a line for each file, too.
  Report(std::string program, bool verbose, bool as_json);

  // One more file is to be copied, of this size.
  void expect(std::uint64_t bytes);

  void copied(const Copied &file);
  void skipped(const std::string &path, const std::string &why); // it stays as it is
  void made_other(); // a directory, a link or a special file
  void failure(const std::string &text);
  void warning(const std::string &text);

  // One line on a terminal; nothing elsewhere.  MOVED: bytes so far.
  void show_progress(std::uint64_t moved);

  // Prints the end of it; the exit status: 0, or 1 when something failed or was interrupted.
  int finish(const WorkingWays &working, bool interrupted);

private:
  struct Total {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
  };

  void say(const std::string &text);
  void clear_line();
  [[nodiscard]] std::string summary(const WorkingWays &working, double seconds) const;
  [[nodiscard]] std::string json(const WorkingWays &working, double seconds,
                                 bool interrupted) const;

  const std::string program_;
  const bool verbose_;
  const bool as_json_;
  const bool on_terminal_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  Total expected_;
  Total all_;
  std::map<std::optional<Way>, Total> by_way_;
  std::uint64_t placed_ = 0;
  std::uint64_t skipped_ = 0;
  std::map<std::string, std::uint64_t> why_skipped_; // files of each reason
  std::uint64_t others_ = 0;
  std::vector<Copied> files_;       // with JSON and verbose
  std::vector<std::string> stayed_; // the same
  std::vector<std::string> failures_;
  std::uint64_t failed_ = 0;
  std::vector<std::string> warnings_;
  std::uint64_t warned_ = 0;
  bool line_shown_ = false;
};

} // namespace ses::copy

#endif // SES_COPY_REPORT_H
