#include "caller.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace ses::run {
namespace {

constexpr size_t kPage = 4096; // the smallest there is
constexpr size_t kTextMax = 16384;
constexpr size_t kMountsMax = size_t{1} << 20;
constexpr size_t kStatFields = 50;
constexpr size_t kAddressesAtOnce = 512;

bool is_same(int directory_a, const char *a, int directory_b, const char *b) {
  struct statx first {};
  struct statx second {};
  constexpr unsigned kMask = STATX_INO | STATX_MNT_ID;
  return statx(directory_a, a, 0, kMask, &first) == 0 &&
         statx(directory_b, b, 0, kMask, &second) == 0 && first.stx_ino == second.stx_ino &&
         first.stx_dev_major == second.stx_dev_major &&
         first.stx_dev_minor == second.stx_dev_minor && first.stx_mnt_id == second.stx_mnt_id;
}

// Empty: it is none that can be read.
std::string target_of(int directory, const char *link) {
  char path[PATH_MAX];
  const ssize_t got = readlinkat(directory, link, path, sizeof path);
  return {path, got > 0 && static_cast<size_t>(got) < sizeof path ? static_cast<size_t>(got) : 0};
}

std::string base_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

std::string read_all(int fd) {
  std::string text(kTextMax, '\0');
  const ssize_t got = fd >= 0 ? ::read(fd, text.data(), text.size()) : 0;
  text.resize(got > 0 && static_cast<size_t>(got) < kTextMax ? static_cast<size_t>(got) : 0);
  return text;
}

} // namespace

Caller::Caller(pid_t thread)
    : thread_(thread),
      proc_(open(("/proc/" + std::to_string(thread)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

bool Caller::read(uint64_t address, void *into, size_t size) const {
  const iovec here = {into, size};
  const iovec there = {reinterpret_cast<void *>(address), size};
  return process_vm_readv(thread_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

// One page after the other: what follows the string may not be readable.
bool Caller::read_path(uint64_t address, char (&into)[PATH_MAX]) const {
  size_t length = 0;
  while (length < sizeof into) {
    size_t part = kPage - (address + length) % kPage;
    part = part < sizeof into - length ? part : sizeof into - length;
    if (!read(address + length, into + length, part)) {
      return false;
    }
    if (std::memchr(into + length, '\0', part) != nullptr) {
      return true;
    }
    length += part;
  }
  return false;
}

std::string Caller::text(const char *name) const {
  const Descriptor file(openat(proc_.get(), name, O_RDONLY | O_CLOEXEC));
  return read_all(file.get());
}

bool Caller::read_status(Status &into) const {
  std::istringstream lines(text("status"));
  unsigned fields = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "Umask:") {
      words >> std::oct >> into.umask;
    } else if (key == "Tgid:") {
      words >> into.process;
    } else if (key == "Uid:") {
      uid_t saved = 0;
      words >> into.identity.uid >> into.identity.effective_uid >> saved >> into.identity.fs_uid;
    } else if (key == "Gid:") {
      gid_t real = 0;
      gid_t saved = 0;
      words >> real >> into.identity.effective_gid >> saved >> into.identity.fs_gid;
    } else if (key == "Groups:") {
      for (gid_t group = 0; words >> group;) {
        into.identity.groups.push_back(group);
      }
      words.clear();
    } else if (key == "CapEff:") {
      words >> into.identity.capabilities;
    } else {
      continue;
    }
    if (words.fail()) {
      return false;
    }
    ++fields;
  }
  return fields == 6;
}

Descriptor Caller::open_path(const char *name) const {
  return Descriptor(openat(proc_.get(), name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

Descriptor Caller::directory(int dirfd) const {
  return dirfd == AT_FDCWD ? open_path("cwd") : open_path(("fd/" + std::to_string(dirfd)).c_str());
}

Descriptor Caller::root() const { return open_path("root"); }

// PATH is from this process's root on; empty: it does not lie below the caller's.
std::string Caller::from_root(std::string path) const {
  const std::string root = target_of(proc_.get(), "root");
  if (root.size() > 1 && path.starts_with(root + "/")) {
    return path.substr(root.size());
  }
  return root == "/" && path.starts_with('/') ? path : root == path ? "/" : "";
}

std::string Caller::whole_path(int dirfd, const std::string &path, int directory,
                               const char *name) const {
  if (("/" + path + "/").find("/../") != std::string::npos) {
    const std::string link = "/proc/self/fd/" + std::to_string(directory);
    const std::string base = from_root(target_of(AT_FDCWD, link.c_str()));
    return base.empty() ? base : base + "/" + name;
  }
  if (path.starts_with('/')) {
    return path;
  }
  const std::string link = dirfd == AT_FDCWD ? "cwd" : "fd/" + std::to_string(dirfd);
  const std::string base = from_root(target_of(proc_.get(), link.c_str()));
  return base.empty() ? base : base + "/" + path;
}

bool Caller::shares_root() const { return is_same(proc_.get(), "root", AT_FDCWD, "/"); }

bool Caller::shares_mounts() const {
  return is_same(proc_.get(), "ns/mnt", AT_FDCWD, "/proc/self/ns/mnt");
}

bool Caller::shares_users() const {
  return is_same(proc_.get(), "ns/user", AT_FDCWD, "/proc/self/ns/user");
}

bool Caller::shares_label() const {
  static const std::string label =
      read_all(Descriptor(open("/proc/self/attr/current", O_RDONLY | O_CLOEXEC)).get());
  return text("attr/current") == label;
}

std::string Caller::mounts() const {
  const Descriptor file(openat(proc_.get(), "mountinfo", O_RDONLY | O_CLOEXEC));
  std::string text;
  char part[kPage];
  for (ssize_t got = 1; file && got > 0 && text.size() < kMountsMax;) {
    got = ::read(file.get(), part, sizeof part);
    text.append(part, got > 0 ? static_cast<size_t>(got) : 0);
  }
  return text;
}

int Caller::find_descriptor(dev_t device, ino_t inode) const {
  const int opened = openat(proc_.get(), "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = opened >= 0 ? fdopendir(opened) : nullptr;
  if (directory == nullptr) {
    Descriptor{opened};
    return -1;
  }
  int descriptor = -1;
  while (const dirent *entry = descriptor < 0 ? readdir(directory) : nullptr) {
    struct stat status {};
    if (entry->d_name[0] != '.' && fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 &&
        status.st_dev == device && status.st_ino == inode) {
      descriptor = std::atoi(entry->d_name);
    }
  }
  closedir(directory);
  return descriptor;
}

// AT_EXECFN; or the program's file, which a script, for one, is not.
std::string Caller::program_name() const {
  const Descriptor file(openat(proc_.get(), "auxv", O_RDONLY | O_CLOEXEC));
  uint64_t pair[2] = {};
  char started[PATH_MAX] = {};
  while (::read(file.get(), pair, sizeof pair) == sizeof pair && pair[0] != AT_NULL) {
    if (pair[0] == AT_EXECFN && read_path(pair[1], started)) {
      break;
    }
  }
  const std::string name = base_name(started);
  const std::string program = base_name(target_of(proc_.get(), "exe"));
  return !name.empty() && program.starts_with(name) ? name : program;
}

// Has the first argument, which is LENGTH bytes long, another length than it was given?
bool Caller::has_other_title(size_t length) const {
  const std::string status = text("stat");
  std::istringstream words(status.substr(status.rfind(')') + 1));
  char state = 0;
  uint64_t fields[kStatFields] = {}; // numbered as in proc(5), which begins with 1
  words >> state;
  for (size_t i = 4; i < kStatFields; ++i) {
    words >> fields[i];
  }
  const uint64_t stack = fields[28];
  const uint64_t begin = fields[48];
  uint64_t next = fields[49]; // where the second argument begins, or where all end
  uint64_t count = 0;
  if (!words || stack == 0 || !read(stack, &count, sizeof count)) {
    return false;
  }
  uint64_t addresses[kAddressesAtOnce] = {};
  for (uint64_t i = 1; i < count && length + 1 != next - begin;) { // getopt(3) reorders them
    const size_t at_once = std::min<uint64_t>(count - i, kAddressesAtOnce);
    if (!read(stack + (1 + i) * sizeof *addresses, addresses, at_once * sizeof *addresses)) {
      return false;
    }
    next = std::min(next, *std::min_element(addresses, addresses + at_once));
    i += at_once;
  }
  return length + 1 != next - begin;
}

std::string Caller::short_name() const {
  const Descriptor file(openat(proc_.get(), "cmdline", O_RDONLY | O_CLOEXEC));
  char words[PATH_MAX] = {}; // however many there are, the first is the program
  if (::read(file.get(), words, sizeof words - 1) <= 0) {
    return "";
  }
  if (has_other_title(std::strlen(words))) {
    return program_name();
  }
  const std::string name = base_name(words);
  return name.starts_with('-') ? name.substr(1) : name;
}

} // namespace ses::run
