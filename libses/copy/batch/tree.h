// What is to be copied where: walks the sources and makes directories, links and special files.
#ifndef SES_COPY_TREE_H
#define SES_COPY_TREE_H

#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "batch/report.h"
#include "file/directory.h"
#include "file/file_copy.h"

namespace ses::copy {

class Tree {
public:
  // Called for each regular file, in the thread that walks.
  using Take = std::function<void(Entry source, Entry target, const struct stat &file, Name name)>;

  // NO_CLOBBER: what exists stays as it is; directories are entered all the same.
  Tree(bool no_clobber, Report &report, const std::atomic<bool> &stop, Take take);

  // Copies SOURCES to TARGET as cp -a does: into it where it is a directory, or where there are
  // several sources; else as it.  Raises Failure when nothing can be begun.
  void walk(const std::vector<std::string> &sources, const std::string &target);

  // After every file is there: further names of files that have several, then owner, mode and times
  // of directories, from the inside out.
  void finish();

private:
  // IN_A_FRESH_ONE: the directory of TARGET was made just now, so that nothing is in it.  TARGET
  // without a name is its directory itself.
  void visit(const Entry &source, const Entry &target, bool in_a_fresh_one = false);
  void enter(const Entry &source, const Entry &target);
  std::vector<std::string> names_in(const Directory &source);
  void link(const Entry &source, const Entry &target, const struct stat &from);
  void special(const Entry &source, const Entry &target, const struct stat &from);
  bool is_later_name(const Entry &target, const struct stat &from, const struct stat &there);

  // The name that a file with several is copied to.
  struct First {
    Entry target;
    struct stat from;
    struct stat there; // before; st_nlink is 0 where nothing was

    // What is there now is no copy of it.
    [[nodiscard]] bool is_as_before() const;
  };

  const bool no_clobber_;
  Report &report_;
  const std::atomic<bool> &stop_;
  const Take take_;
  std::vector<std::pair<Directory::Shared, Directory::Shared>> directories_; // sources, targets
  std::map<std::pair<dev_t, ino_t>, First> first_names_;
  std::vector<std::pair<const First *, Entry>> later_names_;
};

} // namespace ses::copy

#endif // SES_COPY_TREE_H
