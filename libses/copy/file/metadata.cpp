#include "file/metadata.h"

#include <endian.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace ses::copy {
namespace {

constexpr std::string_view kAccessList = "system.posix_acl_access";
constexpr std::string_view kNfsList = "system.nfs4_acl"; // of every file there, also without a list

bool belongs_to_the_file_system(std::string_view name) {
  constexpr std::array<std::string_view, 9> kOwn{
      "lustre.",     "trusted.lov", "trusted.lma",    "trusted.link",    "trusted.som",
      "trusted.hsm", "trusted.dmv", "user.mergerfs.", "security.selinux"};
  for (const std::string_view own : kOwn) {
    if (name.starts_with(own)) {
      return true;
    }
  }
  return false;
}

// Of a list of names, each ended by NUL.
std::string names_of(int fd) {
  std::string names;
  for (ssize_t size = flistxattr(fd, nullptr, 0); size > 0;) {
    names.resize(static_cast<std::size_t>(size));
    const ssize_t got = flistxattr(fd, names.data(), names.size());
    if (got >= 0) {
      names.resize(static_cast<std::size_t>(got));
      return names;
    }
    if (errno != ERANGE) {
      break;
    }
    size = flistxattr(fd, nullptr, 0);
  }
  return "";
}

std::string keep_attribute(int in, int out, const char *name) {
  const ssize_t size = fgetxattr(in, name, nullptr, 0);
  if (size < 0) {
    return errno == ENODATA || errno == EPERM ? "" : std::strerror(errno);
  }
  std::vector<char> value(static_cast<std::size_t>(size));
  const ssize_t got = fgetxattr(in, name, value.data(), value.size());
  if (got < 0 || fsetxattr(out, name, value.data(), static_cast<std::size_t>(got), 0) != 0) {
    // Others than root may not set these, and cannot lose what they never had a right to.
    const bool for_root = geteuid() != 0 && std::string_view(name).find("user.") != 0 &&
                          (errno == EPERM || errno == EACCES);
    return for_root ? "" : std::strerror(errno);
  }
  return "";
}

// What a list gives to the owning group, and to all of the others: some of them it may name, so as
// to give them less.
struct Classes {
  mode_t group = 0;
  mode_t others = 07;
};

// Of a file whose list gets lost: the group's bits of its mode are the most that the list gives to
// anybody, and without the list the owning group would have them.
mode_t without_list(mode_t mode, Classes listed) {
  return mode & ~(070U & ~(listed.group << 3)) & ~(07U & ~listed.others);
}

// MODE has in place of the group's bits the most that those have whom the list names.
Classes classes_in_list(int in, mode_t mode) {
  std::vector<char> list(XATTR_SIZE_MAX);
  const ssize_t size = fgetxattr(in, kAccessList.data(), list.data(), list.size());
  Classes classes;
  posix_acl_xattr_entry entry{};
  for (ssize_t at = sizeof(posix_acl_xattr_header); at + ssize_t{sizeof entry} <= size;
       at += ssize_t{sizeof entry}) {
    std::memcpy(&entry, list.data() + at, sizeof entry);
    const mode_t rights = le16toh(entry.e_perm) & 07U;
    const unsigned kind = le16toh(entry.e_tag);
    if (kind == ACL_GROUP_OBJ) {
      classes.group = rights;
    } else if (kind == ACL_USER || kind == ACL_GROUP) {
      classes.others &= rights & mode >> 3;
    }
  }
  return classes;
}

// The same of a list of NFS (RFC 7530, 6.2.1); nothing where it gives no more than a mode does.
std::optional<Classes> classes_in_nfs_list(int in) {
  constexpr uint32_t kAllow = 0, kDeny = 1;
  constexpr uint32_t kInherited = 0x0b, kAlone = 0x08; // by files and directories; by those alone
  constexpr uint32_t kRead = 0x1, kWrite = 0x2, kExecute = 0x20;
  std::vector<char> list(XATTR_SIZE_MAX);
  const ssize_t size = fgetxattr(in, kNfsList.data(), list.data(), list.size());
  Classes classes;
  bool is_mode = true;
  uint32_t head[4]; // kind, flags, rights, and how long the name is that follows
  for (int64_t at = sizeof head[0]; at + int64_t{sizeof head} <= size;) {
    std::memcpy(head, list.data() + at, sizeof head);
    at += int64_t{sizeof head};
    const int64_t length = be32toh(head[3]);
    const uint32_t kind = be32toh(head[0]), flags = be32toh(head[1]), of = be32toh(head[2]);
    const mode_t rights = ((of & kRead) != 0 ? 4U : 0U) | ((of & kWrite) != 0 ? 2U : 0U) |
                          ((of & kExecute) != 0 ? 1U : 0U);
    const std::string_view who(list.data() + at, static_cast<size_t>(std::min(length, size - at)));
    at += (length + 3) & ~int64_t{3};
    const bool is_named = who != "OWNER@" && who != "GROUP@" && who != "EVERYONE@";
    is_mode = is_mode && !is_named && (flags & kInherited) == 0;
    if (who == "GROUP@" && kind == kAllow && (flags & kInherited) == 0) {
      classes.group |= rights;
    } else if (is_named && kind == kDeny && (flags & kAlone) == 0) {
      classes.others &= ~rights;
    }
  }
  return is_mode ? std::nullopt : std::optional(classes);
}

// The first of those that could not be kept, and why; MODE becomes what is right without it.
std::string keep_attributes(int in, int out, mode_t &mode) {
  const std::string names = names_of(in);
  std::string lost;
  for (std::size_t at = 0; at < names.size();) {
    const char *name = names.c_str() + at;
    at += std::strlen(name) + 1;
    if (belongs_to_the_file_system(name)) {
      continue;
    }
    const std::string why = keep_attribute(in, out, name);
    if (why.empty()) {
      continue;
    }
    if (name == kAccessList) {
      mode = without_list(mode, classes_in_list(in, mode));
    } else if (name == kNfsList) {
      const auto classes = classes_in_nfs_list(in);
      if (!classes) {
        continue;
      }
      mode = without_list(mode, *classes);
    }
    if (lost.empty()) {
      lost = std::string("attribute ") + name + ": " + why;
    }
  }
  return lost;
}

// Takes away what the directory handed on to the copy: it would let in whom the source does not.
std::string drop_inherited_lists(int out) {
  if (flistxattr(out, nullptr, 0) <= 0) {
    return "";
  }
  for (const char *name : {"system.posix_acl_access", "system.posix_acl_default"}) {
    if (fremovexattr(out, name) != 0 && errno != ENODATA && errno != EOPNOTSUPP) {
      return std::string("attribute ") + name + ": " + std::strerror(errno);
    }
  }
  return "";
}

// Leads to the very file that FD is open on with O_PATH, also to a symbolic link.
std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

bool may_not_give_away(int error) { return error == EPERM || error == EINVAL; }

} // namespace

std::string keep_metadata(int in, int out, const struct stat &source, const struct stat &created) {
  mode_t mode = source.st_mode & 07777;
  std::string lost;
  const auto note = [&lost](const char *what) {
    if (lost.empty()) {
      lost = std::string(what) + ": " + std::strerror(errno);
    }
  };
  const bool has_owner = created.st_uid == source.st_uid && created.st_gid == source.st_gid;
  if (!has_owner && fchown(out, source.st_uid, source.st_gid) != 0) {
    if (!may_not_give_away(errno)) {
      note("owner");
    }
    if (fchown(out, static_cast<uid_t>(-1), source.st_gid) != 0 ||
        created.st_uid != source.st_uid) {
      mode &= 01777;
    }
  }
  for (const std::string &why : {drop_inherited_lists(out), keep_attributes(in, out, mode)}) {
    if (lost.empty()) {
      lost = why;
    }
  }
  if ((created.st_mode & 07777) != mode && fchmod(out, mode) != 0) {
    note("mode");
  }
  const timespec times[2] = {source.st_atim, source.st_mtim};
  if (futimens(out, times) != 0) {
    note("times");
  }
  return lost;
}

std::string keep_link_metadata(int out, const struct stat &source) {
  std::string lost;
  if (fchownat(out, "", source.st_uid, source.st_gid, AT_EMPTY_PATH) != 0 &&
      !may_not_give_away(errno)) {
    lost = std::string("owner: ") + std::strerror(errno);
  }
  const timespec times[2] = {source.st_atim, source.st_mtim};
  if (utimensat(AT_FDCWD, path_of(out).c_str(), times, 0) != 0 && lost.empty()) {
    lost = std::string("times: ") + std::strerror(errno);
  }
  return lost;
}

std::string keep_special_mode(int in, int out, const struct stat &from) {
  const std::string target = path_of(out);
  removexattr(target.c_str(), kAccessList.data()); // what the directory handed on
  std::vector<char> list(XATTR_SIZE_MAX);
  const ssize_t size = getxattr(path_of(in).c_str(), kAccessList.data(), list.data(), list.size());
  if (size <= 0) {
    chmod(target.c_str(), from.st_mode & 07777);
    return "";
  }
  chmod(target.c_str(), from.st_mode & 07707); // the group's bits are the most that the list gives
  if (setxattr(target.c_str(), kAccessList.data(), list.data(), static_cast<std::size_t>(size),
               0) != 0) {
    return std::string("attribute ") + kAccessList.data() + ": " + std::strerror(errno);
  }
  return "";
}

} // namespace ses::copy
