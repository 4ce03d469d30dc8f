#include "rates/process_io.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace ses::agent {
namespace {

constexpr size_t kMaxThreads = 16;

std::string path_in(pid_t pid, const char *what) {
  return "/proc/" + std::to_string(pid) + "/" + what;
}

// All of a small file; without a string.
template <size_t kSize> std::string_view read_small(const std::string &path, char (&text)[kSize]) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t length = file ? read(file.get(), text, kSize) : 0;
  return {text, static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

// The number after NAME at the begin of a line.
std::optional<uint64_t> number_after(std::string_view text, std::string_view name, int base = 10) {
  for (size_t at = 0; at < text.size();) {
    std::string_view line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    if (!line.starts_with(name)) {
      continue;
    }
    line.remove_prefix(std::min(line.find_first_not_of(" \t", name.size()), line.size()));
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, base);
    return error == std::errc() ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

} // namespace

bool DescriptorInfo::can_write() const { return (flags & O_ACCMODE) != O_RDONLY; }
bool DescriptorInfo::can_read() const { return (flags & O_ACCMODE) != O_WRONLY; }
bool DescriptorInfo::is_durable() const { return (flags & (O_DIRECT | O_DSYNC)) != 0; }

std::optional<DescriptorInfo> parse_descriptor_info(std::string_view text) {
  const auto position = number_after(text, "pos:");
  const auto flags = number_after(text, "flags:", 8);
  if (!position || !flags) {
    return std::nullopt;
  }
  return DescriptorInfo{-1, *position, static_cast<int>(*flags),
                        number_after(text, "ino:").value_or(0)};
}

std::optional<ProcessBytes> parse_process_bytes(std::string_view text) {
  const auto rchar = number_after(text, "rchar:"), wchar = number_after(text, "wchar:");
  const auto fetched = number_after(text, "read_bytes:");
  const auto dirtied = number_after(text, "write_bytes:");
  if (!rchar || !wchar) {
    return std::nullopt;
  }
  return ProcessBytes{*rchar, *wchar, fetched.value_or(0), dirtied.value_or(0)};
}

std::optional<DescriptorInfo> descriptor_of(pid_t pid, int fd) {
  char text[1024];
  auto info = parse_descriptor_info(
      read_small(path_in(pid, ("fdinfo/" + std::to_string(fd)).c_str()), text));
  if (info) {
    info->fd = fd;
  }
  return info;
}

std::optional<ProcessBytes> bytes_of(pid_t pid) {
  return look_at_process(pid,
                         [pid] {
                           char text[1024];
                           return parse_process_bytes(read_small(path_in(pid, "io"), text));
                         })
      .value_or(std::nullopt);
}

// "NUMBER ARGUMENT1 … SP PC", arguments in hexadecimal; "running", or "-1 SP PC" outside of calls.
void add_busy(std::string_view text, BusyDescriptors &busy) {
  uint64_t values[5] = {};
  size_t count = 0;
  for (size_t at = 0; count < std::size(values) && at < text.size(); ++count) {
    std::string_view word = text.substr(at, text.find(' ', at) - at);
    at += word.size() + 1;
    const bool hexadecimal = word.starts_with("0x");
    word.remove_prefix(hexadecimal ? 2 : 0);
    if (std::from_chars(word.data(), word.data() + word.size(), values[count],
                        hexadecimal ? 16 : 10)
            .ec != std::errc()) {
      return;
    }
  }
  if (count < std::size(values)) {
    return;
  }
  const auto argument = [&](size_t number) { return static_cast<int>(values[number]); };
  switch (values[0]) {
  case SYS_write:
  case SYS_pwrite64:
  case SYS_writev:
  case SYS_pwritev:
  case SYS_pwritev2:
    busy.writing.insert(argument(1));
    break;
  case SYS_fsync:
  case SYS_fdatasync:
  case SYS_sync_file_range:
  case SYS_syncfs:
    busy.writing.insert(argument(1));
    busy.synchronizing.insert(argument(1));
    break;
  case SYS_read:
  case SYS_pread64:
  case SYS_readv:
  case SYS_preadv:
  case SYS_preadv2:
    busy.reading.insert(argument(1));
    break;
  case SYS_sendfile:
    busy.writing.insert(argument(1));
    busy.reading.insert(argument(2));
    break;
  case SYS_splice:
  case SYS_copy_file_range:
    busy.reading.insert(argument(1));
    busy.writing.insert(argument(3));
    break;
  default:
    break;
  }
}

BusyDescriptors busy_descriptors_of(pid_t pid) {
  return look_at_process(
             pid,
             [pid] {
               BusyDescriptors busy;
               size_t threads = 0;
               for_each_number(path_in(pid, "task"), [&](int directory, const char *thread) {
                 char text[256];
                 const std::string name = std::string(thread) + "/syscall";
                 const UniqueFd file(openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC));
                 const ssize_t length = file ? read(file.get(), text, sizeof text) : 0;
                 add_busy({text, static_cast<size_t>(std::max<ssize_t>(length, 0))}, busy);
                 return ++threads < kMaxThreads;
               });
               return busy;
             })
      .value_or(BusyDescriptors());
}

std::vector<OpenDescriptor> descriptors_on(pid_t pid, const std::set<dev_t> &devices, size_t most,
                                           size_t &looked_at, bool reading) {
  const auto look = look_at_process(pid, [pid, devices, most, reading, looked = looked_at] {
    std::pair<std::vector<OpenDescriptor>, size_t> result{{}, looked};
    for_each_number(path_in(pid, "fd"), [&](int directory, const char *name) {
      const bool wanted = !reading || can_read(directory, name);
      const auto facts = wanted ? facts_of_open(directory, name) : std::nullopt;
      if (facts && devices.contains(facts->id.device)) {
        result.first.push_back({facts->id, std::atoi(name)});
      }
      return ++result.second < most;
    });
    return result;
  });
  looked_at = look ? look->second : looked_at;
  return look ? look->first : std::vector<OpenDescriptor>();
}

} // namespace ses::agent
