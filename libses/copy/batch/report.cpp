#include "batch/report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "system/visible.h"

namespace ses::copy {
namespace {

constexpr std::size_t kKept =
    1000; // texts of failures and of warnings; beyond that they are counted

// 12.3 GB: decimal units, as rates and capacities have everywhere in the product.
std::string amount(double bytes) {
  constexpr const char *kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  char text[40];
  std::snprintf(text, sizeof text, unit == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes,
                kUnits[unit]);
  return text;
}

std::string files(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " file" : " files");
}

std::string seconds_text(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, seconds < 100 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

// A file without a byte of data took no way.
std::string way_text(const std::optional<Way> &way) {
  return std::string(way ? name_of(*way) : "none");
}

} // namespace

Report::Report(std::string program, bool verbose, bool as_json)
    : program_(std::move(program)), verbose_(verbose), as_json_(as_json),
      on_terminal_(isatty(STDERR_FILENO) != 0) {}

void Report::clear_line() {
  if (line_shown_) {
    std::fputs("\r\033[K", stderr);
    line_shown_ = false;
  }
}

void Report::say(const std::string &text) {
  clear_line();
  std::fprintf(stderr, "%s: %s\n", program_.c_str(), visible(text).c_str());
}

void Report::expect(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++expected_.files;
  expected_.bytes += bytes;
}

void Report::copied(const Copied &file) {
  const std::lock_guard lock(mutex_);
  for (Total *total : {&all_, &by_way_[file.way]}) {
    ++total->files;
    total->bytes += file.bytes;
  }
  placed_ += file.element.empty() ? 0 : 1;
  if (verbose_ && as_json_) {
    files_.push_back(file);
  } else if (verbose_) {
    clear_line();
    std::printf(
        "%s: %s%s, %s%s\n", visible(file.target).c_str(),
        amount(static_cast<double>(file.bytes)).c_str(),
        file.way ? (" by " + way_text(file.way)).c_str() : "",
        visible(file.element.empty() ? "not placed: " + file.not_placed : "on " + file.element)
            .c_str(),
        file.checksum.empty() ? "" : (", XXH3 " + file.checksum).c_str());
  }
}

void Report::skipped(const std::string &path, const std::string &why) {
  const std::lock_guard lock(mutex_);
  ++skipped_;
  ++why_skipped_[why];
  if (verbose_ && as_json_) {
    stayed_.push_back(path + ": " + why);
  } else if (verbose_) {
    clear_line();
    std::printf("%s: %s\n", visible(path).c_str(), visible(why).c_str());
  }
}

void Report::made_other() {
  const std::lock_guard lock(mutex_);
  ++others_;
}

void Report::failure(const std::string &text) {
  const std::lock_guard lock(mutex_);
  if (++failed_ <= kKept) {
    failures_.push_back(text);
    say(text);
  }
}

void Report::warning(const std::string &text) {
  const std::lock_guard lock(mutex_);
  if (++warned_ <= kKept) {
    warnings_.push_back(text);
    say("warning: " + text);
  }
}

void Report::show_progress(std::uint64_t moved) {
  const std::lock_guard lock(mutex_);
  if (!on_terminal_ || as_json_) {
    return;
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun_;
  const double rate = static_cast<double>(moved) / passed.count();
  std::string text = std::to_string(all_.files) + " of " + files(expected_.files) + ", " +
                     amount(static_cast<double>(moved)) + " of " +
                     amount(static_cast<double>(expected_.bytes)) + ", " + amount(rate) + "/s";
  if (rate > 0 && moved < expected_.bytes) {
    text += ", " + seconds_text(static_cast<double>(expected_.bytes - moved) / rate) + " left";
  }
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  line_shown_ = true;
}

std::string Report::summary(const WorkingWays &working, double seconds) const {
  std::string text = files(all_.files) + ", " + amount(static_cast<double>(all_.bytes)) + " in " +
                     seconds_text(seconds) + " (" +
                     amount(static_cast<double>(all_.bytes) / std::max(seconds, 1e-9)) + "/s)";
  text += "; " + std::to_string(placed_) + " placed";
  for (const auto &[way, total] : by_way_) {
    text += way ? "\n  " + way_text(way) + ": " + files(total.files) + ", " +
                      amount(static_cast<double>(total.bytes))
                : "\n  without a byte: " + files(total.files);
  }
  for (const auto &[why, count] : why_skipped_) {
    text += "\n  left: " + files(count) + ": " + visible(why);
  }
  for (const auto &[way, why] : working.refused()) {
    text += "\n  not " + way + ": " + why;
  }
  return text;
}

std::string Report::json(const WorkingWays &working, double seconds, bool interrupted) const {
  nlohmann::json ways = nlohmann::json::object();
  for (const auto &[way, total] : by_way_) {
    ways[way_text(way)] = {{"files", total.files}, {"bytes", total.bytes}};
  }
  nlohmann::json report = {
      {"files", all_.files},       {"bytes", all_.bytes},   {"seconds", seconds},
      {"placed", placed_},         {"skipped", skipped_},   {"why_skipped", why_skipped_},
      {"others", others_},         {"ways", ways},          {"refused_ways", working.refused()},
      {"failed", failed_},         {"failures", failures_}, {"warnings", warnings_},
      {"interrupted", interrupted}};
  if (verbose_) {
    report["skipped_files"] = stayed_;
    report["each"] = nlohmann::json::array();
    for (const Copied &file : files_) {
      report["each"].push_back({{"source", file.source},
                                {"target", file.target},
                                {"way", way_text(file.way)},
                                {"bytes", file.bytes},
                                {"element", file.element},
                                {"not_placed", file.not_placed},
                                {"xxh3_128", file.checksum}});
    }
  }
  // A name need not be UTF-8.
  return report.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

int Report::finish(const WorkingWays &working, bool interrupted) {
  const std::lock_guard lock(mutex_);
  clear_line();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun_;
  if (failed_ > kKept) {
    say(std::to_string(failed_ - kKept) + " more failures");
  }
  if (warned_ > kKept) {
    say(std::to_string(warned_ - kKept) + " more warnings");
  }
  const std::string text =
      as_json_ ? json(working, passed.count(), interrupted) : summary(working, passed.count());
  const bool written = std::printf("%s\n", text.c_str()) >= 0 && std::fflush(stdout) == 0;
  return failed_ > 0 || interrupted || !written ? 1 : 0;
}

} // namespace ses::copy
