#include "systems/union_branches.h"

#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "systems/systems.h"

namespace ses::agent {
namespace {

constexpr const char *kBranches = "user.mergerfs.branches";
constexpr size_t kMostText = 65536; // the kernel's limit of an attribute

std::string without_end(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

} // namespace

std::vector<std::string> parse_branches(const std::string &text) {
  std::vector<std::string> branches;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ':');) { // "/b1=RW:/b2=NC,4G"
    const size_t mode = word.rfind('=');
    if (word.starts_with('/')) {
      branches.push_back(without_end(word.substr(0, mode)));
    }
  }
  return branches;
}

bool is_trusted_union(const std::string &mountinfo, const std::string &mount_point, uid_t self) {
  bool trusted = false;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string id, parent, numbers, within, point, word, type, source, options;
    if (!(fields >> id >> parent >> numbers >> within >> point) ||
        unescape_mount(point) != mount_point) {
      continue;
    }
    while (fields >> word && word != "-") {
    }
    fields >> type >> source >> options;
    const auto mounted_by = [&](uid_t uid) {
      return ("," + options + ",").find(",user_id=" + std::to_string(uid) + ",") !=
             std::string::npos;
    };
    trusted = type == "fuse.mergerfs" && within == "/" && (mounted_by(0) || mounted_by(self));
  }
  return trusted;
}

std::string why_no_branch(const std::string &mount_point, const std::string &target) {
  if (!is_trusted_union(read_mountinfo(), mount_point, geteuid())) {
    return mount_point + " is no mergerfs union that root has mounted here";
  }
  std::string text(kMostText, '\0');
  const std::string control = (mount_point == "/" ? "" : mount_point) + "/.mergerfs";
  const ssize_t size = getxattr(control.c_str(), kBranches, text.data(), text.size());
  if (size < 0) {
    return mount_point + " does not say what its branches are: " + std::strerror(errno);
  }
  text.resize(static_cast<size_t>(size));
  const std::vector<std::string> branches = parse_branches(text);
  if (std::find(branches.begin(), branches.end(), target) != branches.end()) {
    return "";
  }
  return target + " is no branch of the union at " + mount_point +
         "; describe its branches as it names them: getfattr -n user.mergerfs.branches " + control;
}

} // namespace ses::agent
