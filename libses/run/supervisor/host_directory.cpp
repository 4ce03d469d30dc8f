#include "host_directory.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <fstream>
#include <sstream>

namespace ses::run {
namespace {

struct Mount {
  std::string number, device, within, point, options;
};

// \040 and so on as the characters they are.
std::string unescaped(const std::string &text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The last mount of the text that fits: it lies above the others.
template <typename Fits> std::optional<Mount> last_mount(std::istream &lines, Fits fits) {
  std::optional<Mount> last;
  for (std::string line; std::getline(lines, line);) {
    Mount mount;
    std::string parent;
    std::istringstream words(line);
    for (std::string *field :
         {&mount.number, &parent, &mount.device, &mount.within, &mount.point, &mount.options}) {
      std::getline(words, *field, ' ');
    }
    if (words && fits(mount)) {
      mount.within = unescaped(mount.within);
      mount.point = unescaped(mount.point);
      last = mount;
    }
  }
  return last;
}

bool has_option(const Mount &mount, const std::string &option) {
  return ("," + mount.options + ",").find("," + option + ",") != std::string::npos;
}

std::string without_end(const std::string &path) { return path == "/" ? "" : path; }

// PATH below POINT, with its '/'; nothing if it is not.
std::optional<std::string> below(const std::string &path, const std::string &point) {
  const std::string start = without_end(point);
  const bool is_below =
      path.starts_with(start) && (path.size() == start.size() || path[start.size()] == '/');
  return is_below ? std::optional(path.substr(start.size())) : std::nullopt;
}

} // namespace

std::optional<HostDirectory> find_host_directory(int directory, const std::string &mounts) {
  struct statx wanted {};
  if (statx(directory, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &wanted) != 0) {
    return std::nullopt;
  }
  std::istringstream theirs(mounts);
  const auto there = last_mount(theirs, [&](const Mount &mount) {
    return mount.number == std::to_string(wanted.stx_mnt_id);
  });
  std::ifstream ours("/proc/self/mountinfo");
  const auto here = last_mount(ours, [&](const Mount &mount) {
    return there && mount.device == there->device && mount.within == "/";
  });
  char path[PATH_MAX];
  const ssize_t got =
      readlink(("/proc/self/fd/" + std::to_string(directory)).c_str(), path, sizeof path);
  if (!here || has_option(*there, "ro") || has_option(*there, "idmapped") || got <= 0 ||
      got == static_cast<ssize_t>(sizeof path)) {
    return std::nullopt;
  }
  const auto rest = below({path, static_cast<size_t>(got)}, there->point);
  if (!rest) {
    return std::nullopt;
  }
  HostDirectory host_directory;
  host_directory.path = without_end(here->point) + without_end(there->within) + *rest;
  open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  host_directory.directory = Descriptor(static_cast<int>(
      syscall(SYS_openat2, AT_FDCWD, host_directory.path.c_str(), &how, sizeof how)));
  struct statx same {};
  if (!host_directory.directory ||
      statx(host_directory.directory.get(), "", AT_EMPTY_PATH, STATX_INO, &same) != 0 ||
      same.stx_ino != wanted.stx_ino || same.stx_dev_major != wanted.stx_dev_major ||
      same.stx_dev_minor != wanted.stx_dev_minor) {
    return std::nullopt;
  }
  return host_directory;
}

} // namespace ses::run
