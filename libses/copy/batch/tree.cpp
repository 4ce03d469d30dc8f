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

std::string joined(const std::string &directory, const std::string &name) {
  return directory.back() == '/' ? directory + name : directory + "/" + name;
}

// True: DIRECTORY is PATH, or one of those that PATH lies in, as far as they exist.
bool lies_in(std::string path, const struct stat &directory) {
  for (;;) {
    struct stat found {};
    if (stat(path.c_str(), &found) == 0) {
      if (found.st_dev == directory.st_dev && found.st_ino == directory.st_ino) {
        return true;
      }
      struct stat above {};
      path += "/..";
      if (!S_ISDIR(found.st_mode) || stat(path.c_str(), &above) != 0 ||
          (above.st_dev == found.st_dev && above.st_ino == found.st_ino)) {
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

// Lets MAKE give a path to something, and that path be TARGET; what has that name is replaced in
// one step.  False, with errno: it is as it was.
template <typename Make> bool made_at(const std::string &target, Make make) {
  if (make(target)) {
    return true;
  }
  if (errno != EEXIST) {
    return false;
  }
  const std::string partial = partial_path(target);
  if ((unlink(partial.c_str()) != 0 && errno != ENOENT) || !make(partial)) {
    return false;
  }
  const bool done = rename(partial.c_str(), target.c_str()) == 0;
  const int error = errno;
  unlink(partial.c_str()); // rename(2) leaves it where both are names of one file
  errno = error;
  return done;
}

// A file replaces what has its name, but no device: cp would write to it, and nobody wants it gone.
void refuse_special(const std::string &target, mode_t there) {
  struct stat meant {};
  if (S_ISLNK(there)) {
    there = stat(target.c_str(), &meant) == 0 ? meant.st_mode : S_IFREG;
  }
  if (!S_ISREG(there) && !S_ISDIR(there)) {
    throw Failure(target, "is a device, FIFO or socket, which a file does not replace");
  }
}

} // namespace

Tree::Tree(bool no_clobber, Report &report, const std::atomic<bool> &stop, Take take)
    : no_clobber_(no_clobber), report_(report), stop_(stop), take_(std::move(take)) {}

void Tree::walk(const std::vector<std::string> &sources, const std::string &target) {
  struct stat there {};
  named_ = without_slashes(target);
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
  std::map<std::string, std::string> named;
  for (const std::string &source : sources) {
    const std::string name = last_name(source);
    if (name.empty() || name == "." || name == "..") {
      // What is inside goes into the target itself, as with cp.
      visit(source, named_);
    } else if (const auto [first, is_first] = named.emplace(name, source); !is_first) {
      report_.failure(source + ": is not copied, as " + first->second + " gets the same name in " +
                      target);
    } else {
      visit(without_slashes(source), is_directory ? joined(target, name) : named_);
    }
  }
}

void Tree::visit(const std::string &source, const std::string &target, bool in_a_fresh_one) {
  if (stop_) {
    return;
  }
  struct stat from {};
  if (lstat(source.c_str(), &from) != 0) {
    report_.failure(failed(source, "cannot be read").what());
    return;
  }
  try {
    if (S_ISDIR(from.st_mode)) {
      enter(source, target, from);
      return;
    }
    struct stat there {};
    const bool exists = !in_a_fresh_one && lstat(target.c_str(), &there) == 0;
    if (exists && S_ISDIR(there.st_mode)) {
      throw Failure(target, "is a directory, and " + source + " is not");
    }
    if (exists && no_clobber_) {
      report_.skipped(target, "there already");
      return;
    }
    if (exists && S_ISREG(from.st_mode)) {
      refuse_special(target, there.st_mode);
    }
    if (from.st_nlink > 1 && is_later_name(target, from)) {
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

void Tree::enter(const std::string &source, const std::string &target, const struct stat &from) {
  struct stat there {};
  const bool is_fresh = mkdir(target.c_str(), 0700) == 0;
  if (!is_fresh) {
    const int error = errno;
    const int seen = fstatat(AT_FDCWD, target.c_str(), &there, link_flag(target));
    if (error == EEXIST && seen == 0 && S_ISLNK(there.st_mode)) {
      throw Failure(target, "is a symbolic link, which is not followed out of the target");
    }
    if (error != EEXIST || seen != 0 || !S_ISDIR(there.st_mode)) {
      errno = error;
      throw failed(target, "cannot be made a directory");
    }
  }
  directories_.push_back({source, target, from});
  for (const std::string &name : names_in(source)) {
    visit(joined(source, name), joined(target, name), is_fresh);
  }
}

// All at once: a directory that stays open while those in it are walked takes a descriptor.
std::vector<std::string> Tree::names_in(const std::string &source) {
  const std::unique_ptr<DIR, CloseDirectory> open(opendir(source.c_str()));
  if (open == nullptr) {
    throw failed(source, "cannot be read");
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent *entry = readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") {
      names.push_back(name);
    }
  }
  if (errno != 0) {
    report_.failure(failed(source, "cannot be read to its end").what());
  }
  return names;
}

int Tree::link_flag(const std::string &target) const {
  return target == named_ ? 0 : AT_SYMLINK_NOFOLLOW;
}

bool Tree::is_later_name(const std::string &target, const struct stat &from) {
  const auto [found, is_first] = first_names_.emplace(std::pair(from.st_dev, from.st_ino), target);
  if (!is_first) {
    later_names_.emplace_back(found->second, target);
  }
  return !is_first;
}

void Tree::link(const std::string &source, const std::string &target, const struct stat &from) {
  char to[PATH_MAX];
  const ssize_t size = readlink(source.c_str(), to, sizeof to - 1);
  if (size < 0) {
    throw failed(source, "cannot be read");
  }
  to[size] = '\0';
  if (!made_at(target, [&to](const std::string &path) { return symlink(to, path.c_str()) == 0; })) {
    throw failed(target, "cannot be made a symbolic link");
  }
  if (const std::string lost = keep_link_metadata(target, from); !lost.empty()) {
    report_.warning(target + ": not kept: " + lost);
  }
  report_.made_other();
}

void Tree::special(const std::string &source, const std::string &target, const struct stat &from) {
  if (S_ISSOCK(from.st_mode)) {
    report_.warning(source + ": a socket is not copied");
    return;
  }
  if (!made_at(target, [&from](const std::string &path) {
        return mknod(path.c_str(), (from.st_mode & S_IFMT) | 0600, from.st_rdev) == 0;
      })) {
    throw failed(target, "cannot be made a special file");
  }
  for (const std::string &lost :
       {keep_link_metadata(target, from), keep_special_mode(source, target, from)}) {
    if (!lost.empty()) {
      report_.warning(target + ": not kept: " + lost);
    }
  }
  report_.made_other();
}

void Tree::finish() {
  for (const auto &[first, later] : later_names_) {
    if (!made_at(later, [&first](const std::string &path) {
          return ::link(first.c_str(), path.c_str()) == 0;
        })) {
      report_.failure(failed(later, "cannot be made a further name of " + first).what());
    } else {
      report_.made_other();
    }
  }
  for (auto made = directories_.rbegin(); made != directories_.rend(); ++made) {
    const Descriptor in(open(made->source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const int no_link = link_flag(made->target) != 0 ? O_NOFOLLOW : 0;
    const Descriptor out(open(made->target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link));
    struct stat there {};
    const std::string lost =
        in && out && fstat(out.get(), &there) == 0
            ? keep_metadata(in.get(), out.get(), made->from, there)
            : failed(in ? made->target : made->source, "cannot be opened").what();
    if (!lost.empty()) {
      report_.warning(made->target + ": not kept: " + lost);
    }
    report_.made_other();
  }
}

} // namespace ses::copy
