#include "file/directory.h"

#include <sys/resource.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "file/failure.h"

namespace ses::copy {
namespace {

std::mutex mutex; // of what is below, and of every Directory's open_

// What stays open between uses, the oldest one replaced first.
void keep_open(Directory::Held held) {
  static std::vector<Directory::Held> kept([] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return std::clamp<rlim_t>(limit.rlim_cur / 8, 4, 64);
  }());
  static std::size_t next = 0;
  kept[next++ % kept.size()].swap(held);
}

std::string joined(const std::string &directory, const std::string &name) {
  return directory.empty() || directory.back() == '/' ? directory + name : directory + "/" + name;
}

// To search it is enough, where it may not be read.
Descriptor open_directory(int parent, const char *name, int flags) {
  flags |= O_DIRECTORY | O_CLOEXEC;
  Descriptor directory(openat(parent, name, O_RDONLY | flags));
  return directory || errno != EACCES ? std::move(directory)
                                      : Descriptor(openat(parent, name, O_PATH | flags));
}

} // namespace

Directory::Directory(Shared parent, std::string path)
    : parent_(std::move(parent)), path_(std::move(path)) {}

Directory::Shared Directory::named(const std::string &path) { return below(nullptr, path); }

Directory::Shared Directory::below(const Shared &parent, const std::string &name) {
  const auto directory =
      std::make_shared<Directory>(parent, parent ? joined(parent->path_, name) : name);
  if (directory->path_.size() >= PATH_MAX) { // else a walk could go on for ever
    errno = ENAMETOOLONG;
    throw failed(directory->path_, "cannot be entered");
  }
  auto held = std::make_shared<const Descriptor>(directory->open_by_name());
  fstat(held->get(), &directory->status_);
  directory->open_ = held;
  const std::lock_guard lock(mutex);
  keep_open(std::move(held));
  return directory;
}

Descriptor Directory::open_by_name() const {
  Descriptor descriptor;
  if (parent_ == nullptr) {
    descriptor = open_directory(AT_FDCWD, path_.empty() ? "." : path_.c_str(), 0);
  } else {
    const char *name = path_.c_str() + path_.rfind('/') + 1; // npos + 1 is 0
    descriptor = open_directory(parent_->held()->get(), name, O_NOFOLLOW);
  }
  if (!descriptor) {
    throw failed(path_.empty() ? "." : path_, "cannot be entered");
  }
  return descriptor;
}

void Directory::refuse_other(const struct stat &status) const {
  if (status.st_dev != status_.st_dev || status.st_ino != status_.st_ino) {
    throw Failure(path_, "is another directory now, which is left alone");
  }
}

Directory::Held Directory::held() const {
  {
    const std::lock_guard lock(mutex);
    if (Held held = open_.lock()) {
      return held;
    }
  }
  auto held = std::make_shared<const Descriptor>(open_by_name());
  struct stat status {};
  fstat(held->get(), &status);
  refuse_other(status);
  const std::lock_guard lock(mutex);
  open_ = held;
  keep_open(held);
  return held;
}

Descriptor Directory::open_to_read() const {
  return Descriptor(openat(held()->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void Directory::refuse_moved() const {
  struct stat status {};
  if (parent_ != nullptr && !Entry{parent_, path_.substr(path_.rfind('/') + 1)}.status(status)) {
    throw failed(path_, "was moved while it was copied to");
  }
  if (parent_ != nullptr) {
    refuse_other(status);
  }
}

std::string Entry::path() const { return joined(directory->path(), name); }

bool Entry::status(struct stat &status, int flags) const {
  return fstatat(directory->held()->get(), name.c_str(), &status, flags) == 0;
}

Entry entry_of(const std::string &path) {
  const std::size_t start = path.rfind('/') + 1; // npos + 1 is 0
  return {Directory::named(path.substr(0, start)),
          start == path.size() && start > 0 ? "." : path.substr(start)};
}

} // namespace ses::copy
