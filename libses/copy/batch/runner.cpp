#include "batch/runner.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "batch/interrupt.h"

namespace ses::copy {
namespace {

bool is_there_already(const Entry &target, const struct stat &source) {
  struct stat there {};
  return target.status(there) && S_ISREG(there.st_mode) && there.st_size == source.st_size &&
         there.st_mtim.tv_sec == source.st_mtim.tv_sec &&
         there.st_mtim.tv_nsec == source.st_mtim.tv_nsec;
}

} // namespace

Runner::Runner(const CopyOptions &options, std::optional<Way> only, unsigned jobs, Report &report)
    : options_(options), jobs_(jobs), ways_(only), report_(report),
      shown_([this](const std::stop_token &over) { show(over); }), pool_(jobs) {}

void Runner::give(Entry source, Entry target, const struct stat &file, Name name) {
  if (name == Name::kTaken && options_.resume && !options_.replace &&
      is_there_already(target, file)) {
    report_.skipped(target.path(), "there already, of the same size and time");
    return;
  }
  report_.expect(static_cast<std::uint64_t>(file.st_size));
  pool_.submit([this, source = std::move(source), target = std::move(target), name] {
    begin(source, target, name);
  });
}

void Runner::wait() { pool_.wait(); }

int Runner::finish() {
  shown_.request_stop();
  shown_.join();
  const int signal = stop_signal();
  const int status = report_.finish(ways_, signal != 0);
  return signal != 0 ? 128 + signal : status;
}

void Runner::begin(const Entry &source, const Entry &target, Name name) {
  if (stop_asked) {
    return;
  }
  guarded([&] {
    const auto copy = std::make_shared<FileCopy>(source, target, name, options_, ways_,
                                                 Watch{stop_asked, moved_});
    for (unsigned helper = 1; helper < std::min(copy->pieces(), jobs_); ++helper) {
      pool_.submit_first([this, copy] { work(*copy); });
    }
    work(*copy);
  });
}

void Runner::work(FileCopy &copy) {
  guarded([&] {
    if (!copy.work()) {
      return;
    }
    const Copied done = copy.finish();
    report_.copied(done);
    if (!done.lost.empty()) {
      report_.warning(done.target + ": not kept: " + done.lost);
    }
  });
}

template <typename Action> void Runner::guarded(Action action) {
  try {
    action();
  } catch (const Stays &stays) {
    report_.skipped(stays.path(), stays.why());
  } catch (const Failure &failure) {
    report_.failure(failure.what());
    if (failure.error() == ENOSPC || failure.error() == EDQUOT) {
      stop_asked = true; // nothing else would find room
    }
  } catch (const std::exception &failure) { // no memory
    report_.failure(failure.what());
    stop_asked = true;
  }
}

void Runner::show(const std::stop_token &over) {
  std::mutex mutex;
  std::condition_variable_any slept;
  std::unique_lock lock(mutex);
  while (!slept.wait_for(lock, over, std::chrono::milliseconds(300), [] { return false; }) &&
         !over.stop_requested()) {
    report_.show_progress(moved_);
  }
}

} // namespace ses::copy
