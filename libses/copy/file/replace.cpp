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
    throw Failure(path, std::string("its file system does not tell whether it is in use (") +
                            std::strerror(lease.error()) +
                            "); --assume-unused migrates it all the same");
  }
}

bool is_unchanged(const struct stat &now, const struct stat &then) {
  return now.st_size == then.st_size && now.st_mtim.tv_sec == then.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == then.st_mtim.tv_nsec && now.st_ctim.tv_sec == then.st_ctim.tv_sec &&
         now.st_ctim.tv_nsec == then.st_ctim.tv_nsec;
}

std::string beside(const std::string &path) {
  const std::size_t start = path.rfind('/') + 1; // npos + 1 is 0
  return path.substr(0, start) + ".ses-replaced." + std::to_string(getpid()) + "." +
         std::to_string(std::hash<std::string>{}(path));
}

std::string branch_of(const std::string &path) {
  char text[4096];
  const ssize_t size = lgetxattr(path.c_str(), "user.mergerfs.basepath", text, sizeof text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
}

struct FreeLayout {
  void operator()(ses_layout *layout) const { ses_layout_free(layout); }
};

} // namespace

void refuse_in_use(int fd, const std::string &path, bool assume_unused) {
  check(Lease(fd), path, assume_unused);
}

void replace_unused(int fd, const std::string &path, const std::string &partial,
                    const struct stat &from, bool assume_unused) {
  const Lease lease(fd);
  check(lease, path, assume_unused);
  struct stat now {};
  if (!read_status(fd, now) || !is_unchanged(now, from)) {
    throw Failure(path, "changed while it was copied; it stays where it is");
  }
  struct stat named {};
  if (lstat(path.c_str(), &named) != 0 || named.st_dev != now.st_dev ||
      named.st_ino != now.st_ino) {
    throw Failure(path, "is another file now; it stays where it is");
  }
  const std::string old = beside(path);
  if (link(path.c_str(), old.c_str()) != 0) {
    throw failed(path, "cannot be kept under a second name while it is replaced");
  }
  if (rename(partial.c_str(), path.c_str()) != 0) {
    const Failure failure = failed(path, "cannot be replaced");
    unlink(old.c_str());
    throw failure;
  }
  if (lease.is_held() && lease.is_wanted()) {
    if (rename(old.c_str(), path.c_str()) != 0) {
      throw failed(path, "is in use and was replaced; what it was is " + old);
    }
    throw Failure(path, "is in use: it was opened just now");
  }
  unlink(old.c_str());
}

bool lie_together(const std::string &one, const std::string &other) {
  if (const std::string branch = branch_of(one); !branch.empty()) {
    return branch == branch_of(other);
  }
  const auto osts = [](const std::string &path) {
    std::vector<std::uint32_t> found;
    const std::unique_ptr<ses_layout, FreeLayout> layout(ses_layout_read(path.c_str()));
    for (unsigned number = 0; number < ses_layout_components(layout.get()); ++number) {
      ses_component component{};
      if (ses_layout_component(layout.get(), number, &component) == 0) {
        std::vector<std::uint32_t> here(component.osts);
        ses_layout_osts(layout.get(), number, here.data(), component.osts);
        found.insert(found.end(), here.begin(), here.end());
      }
    }
    return found;
  };
  const auto first = osts(one);
  return !first.empty() && first == osts(other);
}

} // namespace ses::copy
