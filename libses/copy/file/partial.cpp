#include "file/partial.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string_view>

namespace ses::copy {
namespace {

constexpr std::string_view kBefore = ".ses-partial.";
constexpr const char *kAttribute = "user.ses.copy";

std::string note_of(const struct stat &source, off_t bytes) {
  char text[160];
  std::snprintf(text, sizeof text, "1 %jx %ju %jd %jd.%09ld %jd",
                static_cast<uintmax_t>(source.st_dev), static_cast<uintmax_t>(source.st_ino),
                static_cast<intmax_t>(source.st_size), static_cast<intmax_t>(source.st_mtim.tv_sec),
                source.st_mtim.tv_nsec, static_cast<intmax_t>(bytes));
  return text;
}

} // namespace

std::string partial_name(const std::string &name) {
  const std::string before(kBefore);
  if (before.size() + name.size() <= NAME_MAX) {
    return before + name;
  }
  char digest[20];
  std::snprintf(digest, sizeof digest, "%016zx", std::hash<std::string>{}(name));
  return before + digest;
}

bool is_partial_name(const std::string &name) { return name.starts_with(kBefore); }

off_t bytes_there(int fd, const struct stat &source) {
  char text[160];
  const ssize_t size = fgetxattr(fd, kAttribute, text, sizeof text - 1);
  struct stat there {};
  if (size <= 0 || fstat(fd, &there) != 0) {
    return 0;
  }
  text[size] = '\0';
  const std::string note(text);
  const std::size_t last = note.rfind(' ');
  intmax_t bytes = 0;
  if (last == std::string::npos || std::sscanf(text + last, " %jd", &bytes) != 1 || bytes < 0 ||
      bytes > source.st_size || bytes > there.st_size || note != note_of(source, bytes)) {
    return 0;
  }
  return bytes;
}

void note_bytes(int fd, const struct stat &source, off_t bytes) {
  const std::string note = note_of(source, bytes);
  fsetxattr(fd, kAttribute, note.data(), note.size(), 0);
}

void forget_bytes(int fd) { fremovexattr(fd, kAttribute); }

bool is_ours_alone(int fd) {
  struct stat status {};
  return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && fstat(fd, &status) == 0 &&
         status.st_nlink > 0; // another may have removed it before it was locked
}

Descriptor open_left_over(int directory, const std::string &partial) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(openat(directory, partial.c_str(), kFlags));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != geteuid() || status.st_nlink != 1) {
    return Descriptor();
  }
  return file;
}

} // namespace ses::copy
