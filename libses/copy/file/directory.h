// Directories that are held open, and names in them: what is exchanged on a path meanwhile leads
// nowhere else.
#ifndef SES_COPY_DIRECTORY_H
#define SES_COPY_DIRECTORY_H

#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <string>

#include "system/descriptor.h"

namespace ses::copy {

class Directory {
public:
  using Shared = std::shared_ptr<const Directory>;
  using Held = std::shared_ptr<const Descriptor>;

  // Where PATH leads, through links, too: for what the user named.  "" is the working directory.
  // Raises Failure.
  static Shared named(const std::string &path);

  // The directory NAME in PARENT itself.  Raises Failure, also where it is a symbolic link.
  static Shared below(const Shared &parent, const std::string &name);

  Directory(Shared parent, std::string path);

  // Its descriptor, open as long as it is held.  A few stay open between uses; the others are
  // opened again, and it is an error if that finds another directory.  Raises Failure.
  [[nodiscard]] Held held() const;

  // Its entries can be read from this, and its attributes; none, with errno.  Raises Failure.
  [[nodiscard]] Descriptor open_to_read() const;

  // Its name still leads to it.  Raises Failure.
  void refuse_moved() const;

  [[nodiscard]] const std::string &path() const { return path_; }     // for people
  [[nodiscard]] const struct stat &status() const { return status_; } // when it was first opened

private:
  [[nodiscard]] Descriptor open_by_name() const;
  void refuse_other(const struct stat &status) const;

  const Shared parent_; // none: the user named it
  const std::string path_;
  struct stat status_ {};
  mutable std::weak_ptr<const Descriptor> open_;
};

// A name in a directory.
struct Entry {
  Directory::Shared directory;
  std::string name;

  [[nodiscard]] std::string path() const; // for people
  // As fstatat(2); FLAGS are AT_SYMLINK_NOFOLLOW or 0.
  [[nodiscard]] bool status(struct stat &status, int flags = AT_SYMLINK_NOFOLLOW) const;
};

// PATH as a name in its directory, where that leads now.  Raises Failure.
Entry entry_of(const std::string &path);

} // namespace ses::copy

#endif // SES_COPY_DIRECTORY_H
