// What the kernel reports of the bytes a process moves, and of the descriptors it uses for them.
//
// Reads small files of /proc, which no file system is asked for.  Nothing is known of processes the
// agent may not trace (those of other users, where it does not run as root).
#ifndef SES_AGENT_PROCESS_IO_H
#define SES_AGENT_PROCESS_IO_H

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "processes/proc_files.h"
#include "rates/attribution.h"

namespace ses::agent {

// A descriptor, from /proc/PID/fdinfo.
struct DescriptorInfo {
  int fd = -1;
  uint64_t position = 0;
  int flags = 0; // as open() takes them
  uint64_t inode = 0;
  [[nodiscard]] bool can_write() const;
  [[nodiscard]] bool can_read() const;
  // What is written is on the device when the call returns.
  [[nodiscard]] bool is_durable() const;
};

// Pure, as the next; none when TEXT is not as expected.
[[nodiscard]] std::optional<DescriptorInfo> parse_descriptor_info(std::string_view text);
[[nodiscard]] std::optional<ProcessBytes> parse_process_bytes(std::string_view text);

[[nodiscard]] std::optional<DescriptorInfo> descriptor_of(pid_t pid, int fd);
// None: gone, or not to be seen.
[[nodiscard]] std::optional<ProcessBytes> bytes_of(pid_t pid);

// Which descriptors calls of a process are about that have not ended: of at most 16 threads.
struct BusyDescriptors {
  std::set<int> writing, reading;
  std::set<int> synchronizing; // also in WRITING
};
[[nodiscard]] BusyDescriptors busy_descriptors_of(pid_t pid);
// The same of one thread, by the text of /proc/PID/task/TID/syscall.  Pure.
void add_busy(std::string_view text, BusyDescriptors &busy);

// The descriptors of PID, at most MOST, by the inode they refer to: regular files on DEVICES only,
// with READING of descriptors that can read.
struct OpenDescriptor {
  FileId file;
  int fd = -1;
};
[[nodiscard]] std::vector<OpenDescriptor> descriptors_on(pid_t pid, const std::set<dev_t> &devices,
                                                         size_t most, size_t &looked_at,
                                                         bool reading = false);

} // namespace ses::agent

#endif // SES_AGENT_PROCESS_IO_H
