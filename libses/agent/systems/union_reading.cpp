#include "systems/union_reading.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

#include "node/mountinfo.h"
#include "systems/file_system.h"

namespace ses::agent {
namespace {

constexpr size_t kMaxText = 65536;                      // the kernel's limit of an attribute
constexpr uint64_t kDefaultMinFree = uint64_t{4} << 30; // mergerfs's own
// A branch that `ses apply` holds back is NC, with this and its own reserve, or with twice this.
constexpr uint64_t kHeld = uint64_t{1} << 60;

std::string without_end(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

std::string control_of(const std::string &mount_point) {
  return (mount_point == "/" ? "" : mount_point) + "/.mergerfs";
}

// The value of an option; empty, with errno, where the union does not say it.
std::string option_of(const std::string &mount_point, const char *option) {
  std::string text(kMaxText, '\0');
  const std::string name = std::string("user.mergerfs.") + option;
  const ssize_t size =
      getxattr(control_of(mount_point).c_str(), name.c_str(), text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return text;
}

// "=NC,4G" behind a path, which may have a '=' of its own.  What is held back is as it is
// otherwise: the union's own choice is kept away from it, and a placed file is not.
bool parse_mode(const std::string &text, UnionBranch &branch) {
  const std::string mode = text.substr(0, text.find(','));
  if (mode != "RW" && mode != "RO" && mode != "NC") {
    return false;
  }
  branch.mode = mode == "RW"   ? UnionBranch::Mode::kReadWrite
                : mode == "RO" ? UnionBranch::Mode::kReadOnly
                               : UnionBranch::Mode::kNoCreate;
  if (mode.size() < text.size()) {
    const uint64_t own = parse_min_free(text.substr(mode.size() + 1));
    const bool is_held = mode == "NC" && own >= kHeld;
    branch.mode = is_held ? UnionBranch::Mode::kReadWrite : branch.mode;
    branch.min_free = !is_held ? own : own < 2 * kHeld ? own - kHeld : branch.min_free;
  }
  return true;
}

// Into SEEN, what BRANCH of it is now.
void look_at(const std::string &path, const std::string &mountinfo, UnionBranch &branch,
             Union &seen) {
  struct statvfs space {};
  struct stat here {};
  if (stat(path.c_str(), &here) != 0 || statvfs(path.c_str(), &space) != 0) {
    branch.error = errno;
    return;
  }
  const auto unit = static_cast<double>(space.f_frsize);
  branch.device = here.st_dev;
  branch.file_system = file_system_at(path, mountinfo);
  seen.used[path] = static_cast<double>(space.f_blocks - space.f_bfree) * unit;
  branch.is_low = static_cast<double>(space.f_bavail) * unit < static_cast<double>(branch.min_free);
  branch.no_inodes = space.f_files > 0 && space.f_favail == 0;
  branch.read_only = (space.f_flag & ST_RDONLY) != 0;
}

} // namespace

uint64_t parse_min_free(const std::string &text) {
  uint64_t number = 0;
  const char *end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  constexpr std::string_view kUnits = "KMGT";
  if (read.ec != std::errc() || read.ptr == end) {
    return number;
  }
  const size_t unit =
      kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(*read.ptr))));
  const size_t shift = unit == kUnits.npos ? 0 : 10 * (unit + 1);
  return number > UINT64_MAX >> shift ? UINT64_MAX : number << shift;
}

Union parse_union(const std::string &branches, const std::string &min_free,
                  const std::string &link_cow) {
  Union parsed;
  if (link_cow == "true") {
    parsed.why = "is mounted with link_cow, which copies a file at its first open: no file can "
                 "be placed there without harm";
  }
  const uint64_t reserve = min_free.empty() ? kDefaultMinFree : parse_min_free(min_free);
  std::istringstream words(branches);
  for (std::string word; std::getline(words, word, ':');) {
    if (!word.starts_with('/')) {
      continue;
    }
    UnionBranch branch;
    branch.min_free = reserve;
    const size_t mode = word.rfind('=');
    if (mode != std::string::npos && parse_mode(word.substr(mode + 1), branch)) {
      word.resize(mode);
    }
    parsed.branches[without_end(word)] = branch;
  }
  return parsed;
}

bool is_trusted_union(const std::string &mountinfo, const std::string &mount_point, uid_t self) {
  const std::vector<Mount> mounts = parse_mountinfo(mountinfo);
  const Mount *mount = mounted_at(mounts, mount_point);
  const auto mounted_by = [&](uid_t uid) {
    return ("," + mount->options + ",").find(",user_id=" + std::to_string(uid) + ",") !=
           std::string::npos;
  };
  return mount != nullptr && mount->type == "fuse.mergerfs" && mount->root == "/" &&
         (mounted_by(0) || mounted_by(self));
}

Union read_union(const std::string &mount_point) {
  Union seen;
  const std::string mountinfo = read_mountinfo();
  if (!is_trusted_union(mountinfo, mount_point, geteuid())) {
    seen.why = "is no mergerfs union that root has mounted here";
    return seen;
  }
  const std::string branches = option_of(mount_point, "branches");
  if (branches.empty()) {
    seen.why = errno == EOPNOTSUPP || errno == ENOSYS
                   ? "does not say what its branches are: it is mounted with xattr=nosys or "
                     "xattr=noattr; mount it without that option"
                   : std::string("does not say what its branches are: ") + std::strerror(errno);
    return seen;
  }
  const std::string link_cow = option_of(mount_point, "link_cow");
  seen = parse_union(branches, option_of(mount_point, "minfreespace"),
                     link_cow.empty() ? option_of(mount_point, "link-cow") : link_cow);
  for (auto &[path, branch] : seen.branches) {
    look_at(path, mountinfo, branch, seen);
  }
  seen.looked_at = std::chrono::steady_clock::now();
  return seen;
}

std::string trouble_of(const Union &seen, const std::string &mount_point,
                       const DescribedBranch &described) {
  if (!seen.why.empty()) {
    return mount_point + " " + seen.why;
  }
  const std::string &target = described.target;
  const auto position = seen.branches.find(target);
  if (position == seen.branches.end()) {
    return target + " is no branch of the union at " + mount_point +
           "; describe its branches as it names them: getfattr -n user.mergerfs.branches " +
           control_of(mount_point);
  }
  const UnionBranch &branch = position->second;
  if (branch.error != 0) {
    return std::string("cannot be looked at: ") + std::strerror(branch.error);
  }
  if (is_another(described.file_system, branch.file_system)) {
    return "not the file system that was described: " + branch.file_system + " instead of " +
           described.file_system + "; see findmnt -T " + target +
           " and mount it, or describe the union again: ses discover --mergerfs " + mount_point;
  }
  if (branch.mode != UnionBranch::Mode::kReadWrite) {
    return branch.mode == UnionBranch::Mode::kReadOnly ? "its mode in the union is RO"
                                                       : "its mode in the union is NC";
  }
  if (branch.read_only) {
    return "its file system is mounted read-only";
  }
  if (branch.is_low) {
    return "less is free than the union's minfreespace keeps";
  }
  return branch.no_inodes ? "its file system has no inode left" : "";
}

} // namespace ses::agent
