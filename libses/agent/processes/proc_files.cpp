#include "processes/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace ses::agent {
namespace {

constexpr std::string_view kDeleted = " (deleted)"; // what the kernel adds to a removed file's path
constexpr size_t kMaxOfFamily = 256;
constexpr size_t kFlags = 6, kStarted = 19; // of /proc/PID/stat, counted from the state
constexpr size_t kReadAtOnce = 8192;
constexpr unsigned long kExitingFlag = 0x4; // PF_EXITING in the kernel's include/linux/sched.h

std::string descriptors_path(pid_t pid) { return "/proc/" + std::to_string(pid) + "/fd"; }

std::optional<FileFacts> facts_at(int directory, const char *name, int flags) {
  struct statx status {};
  // The kernel fills in type, inode and size from memory even when none is asked for; asking for
  // them would make a FUSE file system be consulted.
  if (statx(directory, name, flags | AT_STATX_DONT_SYNC, 0, &status) != 0) {
    return std::nullopt;
  }
  return FileFacts{{makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino},
                   status.stx_size,
                   status.stx_blocks * 512,
                   S_ISREG(status.stx_mode),
                   status.stx_uid,
                   status.stx_nlink};
}

// The entry of /proc/PID/fd is more than an O_PATH descriptor: its link has rights then.
bool gives_access(int directory, const char *name) {
  struct statx link {};
  return statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_MODE, &link) == 0 &&
         (link.stx_mode & 0777) != 0;
}

// Adds the children of one thread, as far as they fit.
void add_children(int tasks, const char *thread, std::vector<pid_t> &family) {
  const std::string name = std::string(thread) + "/children";
  const UniqueFd file(openat(tasks, name.c_str(), O_RDONLY | O_CLOEXEC));
  char text[8 * kMaxOfFamily];
  const ssize_t length = file ? read(file.get(), text, sizeof text) : 0;
  const char *const end = text + std::max<ssize_t>(length, 0);
  for (const char *at = text; at < end && family.size() < kMaxOfFamily;) {
    pid_t child = 0;
    const auto [after, error] = std::from_chars(at, end, child);
    if (error == std::errc()) {
      family.push_back(child);
    }
    at = after + 1;
  }
}

} // namespace

// Without opendir(), which allocates and asks for more than is needed.
void for_each_number(const std::string &path,
                     const std::function<bool(int directory, const char *name)> &visit) {
  const UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  alignas(dirent64) char buffer[8192];
  for (;;) {
    const long length =
        directory ? syscall(SYS_getdents64, directory.get(), buffer, sizeof buffer) : 0;
    if (length <= 0) {
      return;
    }
    for (const char *at = buffer; at < buffer + length;) {
      const auto *entry = reinterpret_cast<const dirent64 *>(at);
      at += entry->d_reclen;
      if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
          !visit(directory.get(), entry->d_name)) {
        return;
      }
    }
  }
}

std::optional<FileFacts> facts_of_open(int directory, const char *name) {
  auto facts = facts_at(directory, name, 0);
  return facts && facts->regular && gives_access(directory, name) ? facts : std::nullopt;
}

bool can_read(int directory, const char *name) {
  struct statx link {};
  return statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_MODE, &link) == 0 &&
         (link.stx_mode & S_IRUSR) != 0;
}

UniqueFd open_handle(pid_t pid, int fd) {
  if (fd < 0) {
    return UniqueFd();
  }
  const std::string path = descriptors_path(pid) + "/" + std::to_string(fd);
  auto handle = look_at_process(pid, [path] {
    return gives_access(AT_FDCWD, path.c_str()) ? UniqueFd(open(path.c_str(), O_PATH | O_CLOEXEC))
                                                : UniqueFd();
  });
  return handle ? std::move(*handle) : UniqueFd();
}

std::optional<uid_t> owner_of(pid_t pid) {
  struct stat status {};
  const std::string path = "/proc/" + std::to_string(pid);
  return pid > 0 && lstat(path.c_str(), &status) == 0 ? std::optional(status.st_uid) : std::nullopt;
}

namespace {

UniqueFd find_handle_in(pid_t pid, const FileId &file) {
  UniqueFd handle;
  for_each_number(descriptors_path(pid), [&](int directory, const char *name) {
    const auto facts = facts_at(directory, name, 0);
    if (!facts || facts->id != file || !gives_access(directory, name)) {
      return true;
    }
    handle.reset(openat(directory, name, O_PATH | O_CLOEXEC));
    const auto opened = facts_of(handle.get()); // the descriptor may be another file's by now
    if (opened && opened->id == file) {
      return false;
    }
    handle.reset();
    return true;
  });
  return handle;
}

} // namespace

UniqueFd find_handle(pid_t pid, const FileId &file) {
  auto handle = look_at_process(pid, [pid, file] { return find_handle_in(pid, file); });
  return handle ? std::move(*handle) : UniqueFd();
}

std::optional<FileFacts> facts_of(int handle) {
  return handle < 0 ? std::nullopt : facts_at(handle, "", AT_EMPTY_PATH);
}

std::string path_of(int handle) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(handle);
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  if (length <= 0 || path[0] != '/') {
    return "";
  }
  std::string_view text(path, static_cast<size_t>(length));
  if (text.ends_with(kDeleted)) { // unless that is its name
    const auto facts = facts_of(handle);
    text.remove_suffix(facts && facts->links == 0 ? kDeleted.size() : 0);
  }
  return std::string(text);
}

std::optional<std::set<FileId>> open_files_of(pid_t pid) {
  return look_at_process(pid, [pid] {
    std::set<FileId> files;
    for_each_number(descriptors_path(pid), [&](int directory, const char *name) {
      const auto facts = facts_at(directory, name, 0);
      if (facts && facts->regular && gives_access(directory, name)) {
        files.insert(facts->id);
      }
      return true;
    });
    return files;
  });
}

std::vector<pid_t> family_of(pid_t pid) {
  std::vector<pid_t> family{pid};
  for (size_t i = 0; i < family.size(); ++i) {
    const std::string tasks = "/proc/" + std::to_string(family[i]) + "/task";
    for_each_number(tasks, [&](int directory, const char *thread) {
      add_children(directory, thread, family);
      return true;
    });
  }
  return family;
}

std::map<FileId, pid_t> open_files_of_children(pid_t pid) {
  std::map<FileId, pid_t> files;
  for (const pid_t member : family_of(pid)) {
    for (const FileId &file :
         member == pid ? std::set<FileId>() : open_files_of(member).value_or(std::set<FileId>())) {
      files.try_emplace(file, member);
    }
  }
  return files;
}

std::map<FileId, OpenSomewhere> find_handles(const std::set<FileId> &wanted) {
  std::map<FileId, OpenSomewhere> handles;
  const auto shared = std::make_shared<const std::set<FileId>>(wanted);
  const pid_t self = getpid();
  for_each_number("/proc", [&](int, const char *process) {
    const pid_t pid = std::atoi(process);
    if (pid == self) { // the agent's own handles do not count
      return true;
    }
    auto of_process = look_at_process(pid, [pid, shared] {
      std::map<FileId, OpenSomewhere> open;
      for_each_number(descriptors_path(pid), [&](int directory, const char *name) {
        const auto facts = facts_at(directory, name, 0);
        if (facts && facts->regular && shared->contains(facts->id) && !open.contains(facts->id) &&
            gives_access(directory, name)) {
          UniqueFd handle(openat(directory, name, O_PATH | O_CLOEXEC));
          const auto opened = facts_of(handle.get()); // the descriptor may be another file's by now
          if (opened && opened->id == facts->id) {
            open[facts->id] = {pid, std::move(handle)};
          }
        }
        return true;
      });
      return open;
    });
    if (of_process) {
      handles.merge(*of_process);
    }
    return handles.size() < wanted.size();
  });
  return handles;
}

std::set<FileId> open_anywhere(const std::set<FileId> &wanted) {
  std::set<FileId> open_files;
  for (const auto &[file, holder] : find_handles(wanted)) {
    open_files.insert(file);
  }
  return open_files;
}

std::string read_proc(const std::string &path) {
  std::string text;
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  for (size_t length = 0; file; length = text.size()) {
    text.resize(length + kReadAtOnce);
    const ssize_t more = read(file.get(), text.data() + length, kReadAtOnce);
    text.resize(length + static_cast<size_t>(std::max<ssize_t>(more, 0)));
    if (more <= 0) {
      break;
    }
  }
  return text;
}

ProcessState state_of(pid_t pid) {
  // pid (name) state ppid pgrp session tty tpgid flags …; the name may hold anything.
  const auto read = look_at_process(
      pid, [path = "/proc/" + std::to_string(pid) + "/stat"] { return read_proc(path); });
  if (!read) {
    return {false, 0};
  }
  const std::string &text = *read;
  std::vector<std::string_view> fields;
  for (size_t at = text.rfind(')'); at < text.size() && fields.size() <= kStarted;) {
    const size_t begin = text.find_first_not_of(" )", at);
    at = std::min(text.find(' ', begin), text.size());
    fields.push_back(std::string_view(text).substr(std::min(begin, text.size()), at - begin));
  }
  const auto number = [&](size_t field) {
    uint64_t value = 0;
    std::from_chars(fields[field].data(), fields[field].data() + fields[field].size(), value);
    return value;
  };
  if (fields.size() <= kStarted) {
    return {};
  }
  return {fields[0] == "Z" || fields[0] == "X" || (number(kFlags) & kExitingFlag) != 0,
          number(kStarted)};
}

} // namespace ses::agent
