// Copies one regular file, by as many threads as want to help.
#ifndef SES_COPY_FILE_COPY_H
#define SES_COPY_FILE_COPY_H

#include <sys/stat.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bytes/bytes.h"
#include "bytes/extents.h"
#include "bytes/working_ways.h"
#include "file/directory.h"
#include "file/failure.h"
#include "file/needs.h"
#include "system/descriptor.h"

namespace ses::copy {

// How files are copied; the same for all of one run.
struct CopyOptions {
  bool resume = false;        // go on with what an interrupted copy left
  bool sync = false;          // on the device before it has its name
  bool verify = false;        // read both again and compare
  bool replace = false;       // the copy takes the place of the source (target and source are one)
  bool assume_unused = false; // replace also what may be in use
  off_t direct_from = 0;      // bytes from which O_DIRECT pays
  Policy needs;               // of every copy; none: as in the portal
};

// The name that a copy is to have.
enum class Name {
  kTaken, // by a file, which may be the source by another name
  kFree,
  kFresh, // its directory was made just now: no earlier copy left anything there
};

struct Copied {
  std::string source;
  std::string target;
  std::optional<Way> way;  // none: there was nothing to move
  std::uint64_t bytes = 0; // of data, without holes
  std::string element;     // "system/element" it was placed on; "": not placed
  std::string not_placed;  // why not
  std::string lost;        // metadata that could not be kept; "": none
  std::string checksum;    // XXH3 of 128 bits, with verify
};

// The file need not be moved: why.
class Stays : public Failure {
  using Failure::Failure;
};

class FileCopy {
public:
  // Opens SOURCE, creates the file that becomes TARGET where it is served best, and shares blocks
  // where that is possible.  Raises Failure; Stays where a replaced file would not lie elsewhere.
  FileCopy(const Entry &source, Entry target, Name name, const CopyOptions &options,
           WorkingWays &ways, Watch watch);
  FileCopy(const FileCopy &) = delete;
  FileCopy &operator=(const FileCopy &) = delete;
  // A copy that is not finished leaves what it has for --resume where that is worth it, else
  // nothing.
  ~FileCopy();

  // How many more threads would find work.
  [[nodiscard]] unsigned pieces() const;

  // Copies pieces until none is left.  True for exactly one caller: the last one, which calls
  // finish().  Raises Failure, after which the others stop.
  bool work();

  // Gives the target its metadata and its name.  Raises Failure.  Not after a stop.
  Copied finish();

  // True: stopped before its end.
  [[nodiscard]] bool is_stopped() const { return stopped_; }

private:
  void refuse_same_file() const;
  void refuse_same_place() const;
  void refuse_shared(int fd) const;
  void create(Name name);
  [[nodiscard]] Descriptor create_whole(ses_result &result) const;
  void plan();
  void copy_of_no_size();
  void copy_piece(std::size_t number);
  Way next_way(Way tried, int error);
  void note(std::size_t number);
  void verify();
  void refuse_loss() const;
  [[nodiscard]] bool take_name();

  const std::string source_;
  const std::string target_;
  const Entry entry_; // the target
  const Directory::Held directory_;
  const std::string partial_; // a name in it
  const CopyOptions &options_;
  WorkingWays &ways_;
  const Watch watch_;
  Descriptor in_;
  Descriptor out_;
  struct stat from_ {};
  struct stat made_ {}; // the copy, before anything was written
  Devices devices_{};
  bool direct_pays_ = false;
  bool shared_ = false;          // all blocks are: nothing is left to copy
  bool grows_to_size_ = false;   // by its last piece, with nothing behind it
  bool looks_for_zeros_ = false; // there are holes, and the file system does not report where
  std::atomic<Way> way_{Way::kReflink};
  off_t there_ = 0; // bytes an interrupted copy left
  std::vector<Extent> pieces_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> done_{0};
  std::atomic<int> inside_{0};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> taken_{false};   // somebody calls finish()
  std::atomic<bool> discard_{false}; // what is there is of no use
  bool nameless_ = false;            // until the target has its name
  bool finished_ = false;            // the target has its name
  std::mutex mutex_;                 // of the way's change and of the note of progress
  std::vector<bool> copied_;
  std::size_t first_missing_ = 0;
  off_t noted_ = 0;
  Copied result_;
};

} // namespace ses::copy

#endif // SES_COPY_FILE_COPY_H
