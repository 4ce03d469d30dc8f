#include "file/replace.h"

#include <fcntl.h>
#include <ses/ses.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "file/failure.h"
#include "file/status.h"

namespace ses::copy {
namespace {

// A lease that the kernel gives only while nobody else has the file open, and that makes others who
// open it wait until it is given back (fcntl(2), F_SETLEASE).
class Lease {
public:
  explicit Lease(int fd) : fd_(fd), error_(fcntl(fd, F_SETLEASE, F_WRLCK) == 0 ? 0 : errno) {}
  Lease(const Lease &) = delete;
  Lease &operator=(const Lease &) = delete;
  ~Lease() {
    if (error_ == 0) {
      fcntl(fd_, F_SETLEASE, F_UNLCK);
    }
  }

  [[nodiscard]] bool is_held() const { return error_ == 0; }
  [[nodiscard]] bool is_refused() const { return error_ == EAGAIN || error_ == EBUSY; }
  [[nodiscard]] int error() const { return error_; }
  // True: somebody waits for the file.
  [[nodiscard]] bool is_wanted() const { return fcntl(fd_, F_GETLEASE) != F_WRLCK; }

private:
  const int fd_;
  const int error_;
};

void check(const Lease &lease, const std::string &path, bool assume_unused) {
  if (lease.is_refused()) {
    throw Failure(path, "is in use: a program of this node has it open");
  }
  if (lease.error() == EACCES) {
    throw Failure(path, "belongs to another user: only its owner and root can migrate it");
  }
  if (!lease.is_held() && !assume_unused) {
    throw Failure(path, std::string("its file system does not report whether it is in use (") +
                            std::strerror(lease.error()) +
                            "); --assume-unused migrates it all the same");
  }
}

bool is_unchanged(const struct stat &now, const struct stat &then) {
  return now.st_size == then.st_size && now.st_mtim.tv_sec == then.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == then.st_mtim.tv_nsec && now.st_ctim.tv_sec == then.st_ctim.tv_sec &&
         now.st_ctim.tv_nsec == then.st_ctim.tv_nsec;
}

std::string beside(const std::string &name) {
  return ".ses-replaced." + std::to_string(getpid()) + "." +
         std::to_string(std::hash<std::string>{}(name));
}

std::string branch_of(int fd) {
  char text[4096];
  const ssize_t size = fgetxattr(fd, "user.mergerfs.basepath", text, sizeof text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
}

struct FreeLayout {
  void operator()(ses_layout *layout) const { ses_layout_free(layout); }
};

} // namespace

void refuse_in_use(int fd, const std::string &path, bool assume_unused) {
  check(Lease(fd), path, assume_unused);
}

void replace_unused(int fd, const Entry &file, const std::string &partial, const struct stat &from,
                    bool assume_unused) {
  const std::string path = file.path();
  const Lease lease(fd);
  check(lease, path, assume_unused);
  struct stat now {};
  if (!read_status(fd, now) || !is_unchanged(now, from)) {
    throw Failure(path, "changed while it was copied; it stays where it is");
  }
  const auto held = file.directory->held();
  const int in = held->get();
  const char *name = file.name.c_str();
  const std::string old = beside(file.name);
  if (linkat(in, name, in, old.c_str(), 0) != 0) {
    throw failed(path, "cannot be kept under a second name while it is replaced");
  }
  struct stat kept {};
  if (fstatat(in, old.c_str(), &kept, AT_SYMLINK_NOFOLLOW) != 0 || kept.st_dev != now.st_dev ||
      kept.st_ino != now.st_ino) {
    unlinkat(in, old.c_str(), 0);
    throw Failure(path, "is another file now; it stays where it is");
  }
  if (renameat(in, partial.c_str(), in, name) != 0) {
    const Failure failure = failed(path, "cannot be replaced");
    unlinkat(in, old.c_str(), 0);
    throw failure;
  }
  if (lease.is_held() && lease.is_wanted()) {
    if (renameat(in, old.c_str(), in, name) != 0) {
      throw failed(path, "is in use and was replaced; what it was is " + old + " beside it");
    }
    throw Failure(path, "is in use: it was opened just now");
  }
  unlinkat(in, old.c_str(), 0);
}

bool lie_together(int a, int b) {
  if (const std::string branch = branch_of(a); !branch.empty()) {
    return branch == branch_of(b);
  }
  const auto osts = [](int fd) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    std::vector<std::uint32_t> indices;
    const std::unique_ptr<ses_layout, FreeLayout> layout(ses_layout_read(path.c_str()));
    for (unsigned number = 0; number < ses_layout_components(layout.get()); ++number) {
      ses_component component{};
      if (ses_layout_component(layout.get(), number, &component) == 0) {
        std::vector<std::uint32_t> here(component.osts);
        ses_layout_osts(layout.get(), number, here.data(), component.osts);
        indices.insert(indices.end(), here.begin(), here.end());
      }
    }
    return indices;
  };
  const auto first = osts(a);
  return !first.empty() && first == osts(b);
}

} // namespace ses::copy
