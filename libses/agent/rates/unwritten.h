// How many bytes may be in memory only, that programs have written.
//
// A bound, and no more: the kernel counts them for each device (debugfs, where it is mounted) and
// for the node (/proc/meminfo), not for each file.  What was written less this bound has reached
// its device, as far as a device counts them.  Lustre counts them for each OST.
#ifndef SES_AGENT_UNWRITTEN_H
#define SES_AGENT_UNWRITTEN_H

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ses::agent {

// Used by one thread.
class Unwritten {
public:
  using Time = std::chrono::steady_clock::time_point;

  // ROOT is "/", or a copy of another machine's.
  explicit Unwritten(std::string root = "/") : root_(std::move(root)) {}

  // Of what was written to TARGET: the path of a branch, or the number of an OST; else of all that
  // was written on the node.  None when the kernel does not say.  Read at most 20 times a second
  // for each device.
  [[nodiscard]] std::optional<uint64_t> of(const std::string &target, Time now);

private:
  struct Known {
    Time at{};
    std::optional<uint64_t> bytes;
  };
  [[nodiscard]] std::string device_of(const std::string &path, Time now);
  [[nodiscard]] std::optional<uint64_t> read_device(const std::string &device) const;
  [[nodiscard]] std::optional<uint64_t> read_ost(const std::string &target) const;
  [[nodiscard]] std::optional<uint64_t> read_node() const;

  const std::string root_;
  std::map<std::string, Known> known_;         // by device, or number of the OST
  std::map<std::string, std::string> devices_; // by path
  Time devices_at_{};
};

// "MAJOR:MINOR" of what is mounted where PATH lies; empty when nothing is.  Pure.
[[nodiscard]] std::string device_at(const std::string &mountinfo, std::string_view path);
// Of all lines "NAME: N kB" with one of the names, together; none when there is none.  Pure.
[[nodiscard]] std::optional<uint64_t> kilobytes_of(std::string_view text,
                                                   std::initializer_list<std::string_view> names);

} // namespace ses::agent

#endif // SES_AGENT_UNWRITTEN_H
