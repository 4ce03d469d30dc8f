#include "batch/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <memory>

#include "file/failure.h"
#include "file/metadata.h"
#include "file/partial.h"
#include "system/descriptor.h"

namespace ses::copy {
namespace {

// In place of what could not be kept.
constexpr const char *kExchanged =
    "owner, mode and times: something else has the name of what was made just now";

struct CloseDirectory {
  void operator()(DIR *directory) const { closedir(directory); }
};

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  return path;
}

std::string last_name(const std::string &path) {
  const std::string bare = without_slashes(path);
  return bare.substr(bare.rfind('/') + 1); // npos + 1 is 0
}

// True: DIRECTORY is PATH, or one of those that PATH lies in, as far as they exist.
bool lies_in(std::string path, const struct stat &directory) {
  for (;;) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) {
      if (status.st_dev == directory.st_dev && status.st_ino == directory.st_ino) {
        return true;
      }
      struct stat above {};
      path += "/..";
      if (!S_ISDIR(status.st_mode) || stat(path.c_str(), &above) != 0 ||
          (above.st_dev == status.st_dev && above.st_ino == status.st_ino)) {
        return false;
      }
    } else {
      const std::size_t slash = path.rfind('/');
      path = slash == std::string::npos ? "." : path.substr(0, slash + 1);
      if (path != "." && path.size() > 1) {
        path.pop_back();
      }
    }
  }
}

// Lets MAKE make something of a name in the directory of TARGET, and that be TARGET; what has that
// name is replaced in one step.  False, with errno: it is as it was.
template <typename Make> bool made_at(const Entry &target, Make make) {
  const auto held = target.directory->held();
  const int in = held->get();
  if (make(in, target.name.c_str())) {
    return true;
  }
  if (errno != EEXIST) {
    return false;
  }
  const std::string partial = partial_name(target.name);
  if ((unlinkat(in, partial.c_str(), 0) != 0 && errno != ENOENT) || !make(in, partial.c_str())) {
    return false;
  }
  const bool done = renameat(in, partial.c_str(), in, target.name.c_str()) == 0;
  const int error = errno;
  unlinkat(in, partial.c_str(), 0); // rename(2) leaves it where both are names of one file
  errno = error;
  return done;
}

// ENTRY without opening what it is.
Descriptor look_at(const Entry &entry) {
  return Descriptor(
      openat(entry.directory->held()->get(), entry.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

// OUT is what was made under this name, of the type and device of FROM, and not what somebody put
// there since: that would get another owner and mode.
bool is_what_was_made(int out, const struct stat &from) {
  struct stat status {};
  return fstat(out, &status) == 0 && (status.st_mode & S_IFMT) == (from.st_mode & S_IFMT) &&
         status.st_rdev == from.st_rdev && status.st_uid == geteuid() && status.st_nlink == 1;
}

// A file replaces what has its name, but no device: cp would write to it, and nobody wants it gone.
void refuse_special(const Entry &target, mode_t there) {
  struct stat meant {};
  if (S_ISLNK(there)) {
    there = target.status(meant, 0) ? meant.st_mode : S_IFREG;
  }
  if (!S_ISREG(there) && !S_ISDIR(there)) {
    throw Failure(target.path(), "is a device, FIFO or socket, which a file does not replace");
  }
}

} // namespace

Tree::Tree(bool no_clobber, Report &report, const std::atomic<bool> &stop, Take take)
    : no_clobber_(no_clobber), report_(report), stop_(stop), take_(std::move(take)) {}

void Tree::walk(const std::vector<std::string> &sources, const std::string &target) {
  struct stat there {};
  const bool exists = stat(target.c_str(), &there) == 0;
  const bool is_directory = exists && S_ISDIR(there.st_mode);
  if ((sources.size() > 1 || target.back() == '/') && !is_directory) {
    struct stat only {};
    const bool makes_one = sources.size() == 1 && !exists &&
                           lstat(sources[0].c_str(), &only) == 0 && S_ISDIR(only.st_mode);
    if (!makes_one) {
      throw Failure(target, exists ? "is not a directory" : "is not a directory that exists");
    }
  }
  for (const std::string &source : sources) {
    struct stat from {};
    if (lstat(source.c_str(), &from) == 0 && S_ISDIR(from.st_mode) && lies_in(target, from)) {
      throw Failure(source, "is not copied into itself (" + target + ")");
    }
  }
  // Where links lead from here is seen once: only these paths are the user's own.
  const Entry as = is_directory ? Entry{Directory::named(without_slashes(target)), ""}
                                : entry_of(without_slashes(target));
  const auto held = as.directory->held();
  std::map<std::string, std::string> named;
  for (const std::string &source : sources) {
    const std::string name = last_name(source);
    try {
      if (name.empty() || name == "." || name == "..") {
        // What is inside goes into the target itself, as with cp.
        visit(entry_of(source), as);
      } else if (const auto [first, is_first] = named.emplace(name, source); !is_first) {
        throw Failure(source,
                      "is not copied, as " + first->second + " gets the same name in " + target);
      } else {
        visit(entry_of(without_slashes(source)), is_directory ? Entry{as.directory, name} : as);
      }
    } catch (const Failure &failure) {
      report_.failure(failure.what());
    }
  }
}

void Tree::visit(const Entry &source, const Entry &target, bool in_a_fresh_one) {
  if (stop_) {
    return;
  }
  try {
    struct stat from {};
    if (!source.status(from)) {
      throw failed(source.path(), "cannot be read");
    }
    if (S_ISDIR(from.st_mode)) {
      enter(source, target);
      return;
    }
    struct stat there {};
    const bool exists = !in_a_fresh_one && target.status(there);
    if (exists && S_ISDIR(there.st_mode)) {
      throw Failure(target.path(), "is a directory, and " + source.path() + " is not");
    }
    if (exists && no_clobber_) {
      report_.skipped(target.path(), "there already");
      return;
    }
    if (exists && S_ISREG(from.st_mode)) {
      refuse_special(target, there.st_mode);
    }
    if (from.st_nlink > 1 && is_later_name(target, from, there)) {
      return;
    }
    if (S_ISREG(from.st_mode)) {
      take_(source, target, from,
            in_a_fresh_one ? Name::kFresh
            : exists       ? Name::kTaken
                           : Name::kFree);
    } else if (S_ISLNK(from.st_mode)) {
      link(source, target, from);
    } else {
      special(source, target, from);
    }
  } catch (const Failure &failure) {
    report_.failure(failure.what());
  }
}

void Tree::enter(const Entry &source, const Entry &target) {
  const auto from = Directory::below(source.directory, source.name);
  Directory::Shared to = target.directory;
  bool is_fresh = false;
  if (!target.name.empty()) {
    is_fresh = mkdirat(to->held()->get(), target.name.c_str(), 0700) == 0;
    if (!is_fresh) {
      const int error = errno;
      struct stat there {};
      const bool exists = error == EEXIST && target.status(there);
      if (exists && S_ISLNK(there.st_mode)) {
        throw Failure(target.path(), "is a symbolic link, which is not followed out of the target");
      }
      if (!exists || !S_ISDIR(there.st_mode)) {
        errno = error;
        throw failed(target.path(), "cannot be made a directory");
      }
    }
    to = Directory::below(to, target.name);
  }
  directories_.emplace_back(from, to);
  for (const std::string &name : names_in(*from)) {
    const Entry entry{from, name};
    struct stat status {};
    if (is_partial_name(name) && entry.status(status) && S_ISREG(status.st_mode)) {
      report_.skipped(entry.path(), "what an interrupted copy left"); // such names are needed there
    } else {
      visit(entry, {to, name}, is_fresh);
    }
  }
}

// All at once: a directory that stays open while those in it are walked takes a descriptor.
std::vector<std::string> Tree::names_in(const Directory &source) {
  Descriptor readable = source.open_to_read();
  const std::unique_ptr<DIR, CloseDirectory> open(readable ? fdopendir(readable.get()) : nullptr);
  if (open == nullptr) {
    throw failed(source.path(), "cannot be read");
  }
  static_cast<void>(readable.release());
  std::vector<std::string> names;
  errno = 0;
  while (const dirent *entry = readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") {
      names.push_back(name);
    }
  }
  if (errno != 0) {
    report_.failure(failed(source.path(), "cannot be read to its end").what());
  }
  return names;
}

bool Tree::is_later_name(const Entry &target, const struct stat &from, const struct stat &there) {
  const auto [first_name, is_first] =
      first_names_.emplace(std::pair(from.st_dev, from.st_ino), First{target, from, there});
  if (!is_first) {
    later_names_.emplace_back(&first_name->second, target);
  }
  return !is_first;
}

bool Tree::First::is_as_before() const {
  struct stat now {};
  return there.st_nlink > 0 && target.status(now) && now.st_dev == there.st_dev &&
         now.st_ino == there.st_ino &&
         (now.st_size != from.st_size || now.st_mtim.tv_sec != from.st_mtim.tv_sec ||
          now.st_mtim.tv_nsec != from.st_mtim.tv_nsec);
}

void Tree::link(const Entry &source, const Entry &target, const struct stat &from) {
  char to[PATH_MAX];
  const ssize_t size =
      readlinkat(source.directory->held()->get(), source.name.c_str(), to, sizeof to - 1);
  if (size < 0) {
    throw failed(source.path(), "cannot be read");
  }
  to[size] = '\0';
  if (!made_at(target, [&to](int in, const char *name) { return symlinkat(to, in, name) == 0; })) {
    throw failed(target.path(), "cannot be made a symbolic link");
  }
  const Descriptor out = look_at(target);
  const std::string lost =
      is_what_was_made(out.get(), from) ? keep_link_metadata(out.get(), from) : kExchanged;
  if (!lost.empty()) {
    report_.warning(target.path() + ": not kept: " + lost);
  }
  report_.made_other();
}

void Tree::special(const Entry &source, const Entry &target, const struct stat &from) {
  if (S_ISSOCK(from.st_mode)) {
    report_.warning(source.path() + ": a socket is not copied");
    return;
  }
  if (!made_at(target, [&from](int in, const char *name) {
        return mknodat(in, name, (from.st_mode & S_IFMT) | 0600, from.st_rdev) == 0;
      })) {
    throw failed(target.path(), "cannot be made a special file");
  }
  const Descriptor in = look_at(source);
  const Descriptor out = look_at(target);
  std::string lost = kExchanged;
  if (is_what_was_made(out.get(), from)) {
    lost = keep_link_metadata(out.get(), from);
    const std::string also = keep_special_mode(in.get(), out.get(), from);
    lost = lost.empty() ? also : lost;
  }
  if (!lost.empty()) {
    report_.warning(target.path() + ": not kept: " + lost);
  }
  report_.made_other();
}

void Tree::finish() {
  for (const auto &[first, later] : later_names_) {
    try {
      const Entry &target = first->target;
      if (first->is_as_before()) {
        throw Failure(later.path(),
                      "is no further name of " + target.path() + ", which was not copied");
      }
      const auto held = target.directory->held();
      if (!made_at(later, [&](int in, const char *name) {
            return linkat(held->get(), target.name.c_str(), in, name, 0) == 0;
          })) {
        throw failed(later.path(), "cannot be made a further name of " + target.path());
      }
      report_.made_other();
    } catch (const Failure &failure) {
      report_.failure(failure.what());
    }
  }
  for (; !directories_.empty(); directories_.pop_back()) {
    const auto &[from, to] = directories_.back();
    try {
      const Descriptor in = from->open_to_read();
      const Descriptor out = to->open_to_read();
      struct stat there {};
      const std::string lost = in && out && fstat(out.get(), &there) == 0
                                   ? keep_metadata(in.get(), out.get(), from->status(), there)
                                   : failed((in ? to : from)->path(), "cannot be opened").what();
      if (!lost.empty()) {
        report_.warning(to->path() + ": not kept: " + lost);
      }
      report_.made_other();
      to->refuse_moved();
    } catch (const Failure &failure) {
      report_.failure(failure.what());
    }
  }
}

} // namespace ses::copy
