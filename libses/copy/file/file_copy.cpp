#include "file/file_copy.h"

#include <fcntl.h>
#include <ses/ses.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

#include "file/digest.h"
#include "file/failure.h"
#include "file/metadata.h"
#include "file/partial.h"
#include "file/replace.h"
#include "file/status.h"
#include "file/unnamed.h"

namespace ses::copy {
namespace {

constexpr off_t kPiece = off_t{64} << 20; // what one thread takes of a large file
constexpr off_t kDirectPiece = off_t{1}
                               << 30;  // the same with O_DIRECT, which is parallel by itself
constexpr off_t kWorthNoting = kPiece; // smaller files begin again
constexpr off_t kWorthAnnouncing = off_t{1} << 20; // smaller files are read ahead whole

// The directory in which this thread learned last that nobody places files: the next ones have no
// name until they are whole.
thread_local Directory::Shared unplaced_directory;

bool set_direct(int fd, bool on) {
  const int flags = fcntl(fd, F_GETFL);
  return fcntl(fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

bool is_same_time(const timespec &a, const timespec &b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Network file systems and unions may keep written bytes, and say at a close, once, that they had
// no room for them.
bool is_written(int fd) {
  const int copy = is_of_the_node(fd) ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return copy < 0 || close(copy) == 0;
}

} // namespace

FileCopy::FileCopy(const Entry &source, Entry target, Name name, const CopyOptions &options,
                   WorkingWays &ways, Watch watch)
    : source_(source.path()), target_(target.path()), entry_(std::move(target)),
      directory_(entry_.directory->held()), partial_(partial_name(entry_.name)), options_(options),
      ways_(ways), watch_(watch), in_(openat(source.directory->held()->get(), source.name.c_str(),
                                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {
  if (!in_) {
    throw failed(source_, "cannot be opened");
  }
  if (!read_status(in_.get(), from_) || !S_ISREG(from_.st_mode)) {
    throw Failure(source_, "is not a regular file any more");
  }
  if (options_.replace) {
    if (from_.st_nlink > 1) {
      throw Failure(source_, "has " + std::to_string(from_.st_nlink) +
                                 " names, and the others would keep the old bytes");
    }
    refuse_in_use(in_.get(), source_, options_.assume_unused);
  } else if (name == Name::kTaken) {
    refuse_same_file();
  }
  create(name);
  try {
    if (options_.replace && there_ == 0) {
      refuse_same_place();
    }
    plan();
  } catch (...) {
    unlinkat(directory_->get(), partial_.c_str(), 0); // no destructor runs
    throw;
  }
}

FileCopy::~FileCopy() {
  if (finished_ || nameless_ || (!discard_ && there_ > 0 && first_missing_ == 0)) {
    return; // there is a note of what an earlier copy left
  }
  if (discard_ || first_missing_ == 0 || from_.st_size < kWorthNoting) {
    unlinkat(directory_->get(), partial_.c_str(), 0);
    return;
  }
  note_bytes(out_.get(), from_,
             pieces_[first_missing_ - 1].offset + pieces_[first_missing_ - 1].length);
}

void FileCopy::refuse_same_place() const {
  if (result_.element.empty()) {
    throw Stays(source_, "no place was chosen for it (" + result_.not_placed + ")");
  }
  if (lie_together(in_.get(), out_.get())) {
    throw Stays(source_, "it is where it is served best (" + result_.element + ")");
  }
}

void FileCopy::refuse_same_file() const {
  struct stat there {};
  if (entry_.status(there, 0) && there.st_dev == from_.st_dev && there.st_ino == from_.st_ino) {
    throw Failure(source_, "is the same file as " + target_);
  }
}

// Of two copies to one target the first would give it its name while the other writes to it.
void FileCopy::refuse_shared(int fd) const {
  if (fd >= 0 && !is_ours_alone(fd)) {
    throw Failure(target_, "is the target of another copy that is running");
  }
}

// The file without a byte; what an earlier copy left under its name is removed.
Descriptor FileCopy::create_whole(ses_result &result) const {
  auto file =
      create_placed(directory_->get(), partial_, from_.st_size, options_.needs.get(), result);
  if (!file && errno == EEXIST) {
    const Descriptor left_over = open_left_over(directory_->get(), partial_);
    refuse_shared(left_over.get());
    if (unlinkat(directory_->get(), partial_.c_str(), 0) != 0) {
      throw failed(target_, partial_ + " beside it is in the way and cannot be removed");
    }
    file = create_placed(directory_->get(), partial_, from_.st_size, options_.needs.get(), result);
  }
  refuse_shared(file.get());
  return file;
}

void FileCopy::create(Name name) {
  if (options_.resume) {
    out_ = open_left_over(directory_->get(), partial_);
    refuse_shared(out_.get());
    there_ = out_ ? bytes_there(out_.get(), from_) : 0;
    if (there_ > 0 && ftruncate(out_.get(), there_) == 0) {
      result_.not_placed = "begun by an earlier copy";
    } else {
      there_ = 0;
      out_ = Descriptor();
    }
  }
  if (name == Name::kFresh && from_.st_size < kWorthNoting &&
      entry_.directory == unplaced_directory) {
    out_ = create_unnamed(directory_->get(), from_.st_mode);
    nameless_ = static_cast<bool>(out_);
    result_.not_placed = ses_strerror(SES_NOT_PLACED_NOT_MANAGED);
  }
  if (there_ == 0 && !nameless_) {
    ses_result result{};
    out_ = create_whole(result);
    result_.element = result.element;
    result_.not_placed =
        result.placed != 0 ? "" : ses_strerror(static_cast<ses_status>(result.reason));
    unplaced_directory =
        out_ && result.reason == SES_NOT_PLACED_NOT_MANAGED && is_of_the_node(out_.get())
            ? entry_.directory
            : nullptr;
  }
  if (!out_ || fstat(out_.get(), &made_) != 0) {
    throw failed(target_, "cannot be created");
  }
  devices_ = {from_.st_dev, made_.st_dev};
}

void FileCopy::plan() {
  const bool whole = !may_have_holes(from_);
  direct_pays_ = whole && from_.st_size >= options_.direct_from && from_.st_size > 0;
  auto way = ways_.first(devices_, there_ > 0 ? Way::kCopyFileRange : Way::kReflink, direct_pays_);
  if (way == Way::kReflink && from_.st_size > 0) {
    const Moved shared = reflink(in_.get(), out_.get());
    shared_ = shared.outcome == Outcome::kDone;
    if (shared.outcome == Outcome::kFailed) {
      throw Failure(target_, std::strerror(shared.error), shared.error);
    }
    if (!shared_) {
      way = next_way(Way::kReflink, shared.error);
    }
  }
  if (!way) {
    throw Failure(source_, "cannot be copied by the way that was asked for");
  }
  way_ = *way;
  if (from_.st_size == 0) {
    copy_of_no_size();
  }
  if (shared_ || from_.st_size == 0) {
    return;
  }
  grows_to_size_ = whole && there_ == 0 && way != Way::kDirect && !direct_pays_;
  const off_t piece = way == Way::kDirect ? kDirectPiece : kPiece;
  if (from_.st_size >= kWorthAnnouncing) {
    posix_fadvise(in_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  off_t data = 0;
  for (const Extent &extent : extents_of(in_.get(), from_, piece)) {
    data += extent.length;
    if (extent.offset + extent.length > there_) {
      pieces_.push_back(extent);
    }
  }
  looks_for_zeros_ = !whole && data == from_.st_size && !is_of_the_node(in_.get()) &&
                     ways_.first(devices_, Way::kReadWrite, false).has_value();
  if (looks_for_zeros_) {
    way_ = Way::kReadWrite;
  }
  copied_.resize(pieces_.size());
}

// Files of /proc say that they have no bytes, and give some when they are read.
void FileCopy::copy_of_no_size() {
  constexpr off_t kAny = std::numeric_limits<off_t>::max();
  const Moved moved = move_range(Way::kReadWrite, in_.get(), out_.get(), 0, kAny, watch_);
  struct stat written {};
  if (moved.outcome == Outcome::kStopped) {
    stopped_ = true;
  } else if (moved.outcome != Outcome::kShort) {
    throw Failure(source_, std::string("cannot be copied: ") + std::strerror(moved.error),
                  moved.error);
  } else if (fstat(out_.get(), &written) == 0 && written.st_size > 0) {
    result_.bytes = static_cast<std::uint64_t>(written.st_size);
    way_ = Way::kReadWrite;
    grows_to_size_ = true;
  }
}

unsigned FileCopy::pieces() const {
  // A file system of the node lets one thread at a time write to a file; others would spin, unless
  // they wait for the source meanwhile.
  const bool alone = pieces_.size() > 1 && way_ != Way::kDirect && is_of_the_node(out_.get()) &&
                     is_of_the_node(in_.get());
  return alone ? 1 : static_cast<unsigned>(pieces_.size());
}

// The way to go on by after TRIED was refused; raises Failure when there is none.
Way FileCopy::next_way(Way tried, int error) {
  const std::lock_guard lock(mutex_);
  if (way_ != tried) {
    return way_; // another thread has seen to it
  }
  if (tried == Way::kDirect) {
    set_direct(in_.get(), false);
    set_direct(out_.get(), false);
  }
  const auto next = ways_.next(devices_, tried, direct_pays_);
  if (!next) { // not refused: it may be this file's fault alone
    throw Failure(source_, std::string("cannot be copied by ") + std::string(name_of(tried)) +
                               " to " + target_ + ": " + std::strerror(error));
  }
  ways_.refuse(devices_, tried, error);
  way_ = *next;
  return *next;
}

void FileCopy::copy_piece(std::size_t number) {
  const Extent piece = pieces_[number];
  for (Way way = way_;;) {
    if (way == Way::kDirect && (!set_direct(in_.get(), true) || !set_direct(out_.get(), true))) {
      way = next_way(way, errno);
      continue;
    }
    const Moved moved =
        looks_for_zeros_
            ? move_data(in_.get(), out_.get(), piece.offset, piece.length, watch_)
            : move_range(way, in_.get(), out_.get(), piece.offset, piece.length, watch_);
    switch (moved.outcome) {
    case Outcome::kDone:
      note(number);
      return;
    case Outcome::kStopped:
      stopped_ = true;
      return;
    case Outcome::kShort:
      throw Failure(source_, "became shorter while it was copied");
    case Outcome::kFailed:
      throw Failure(target_, std::string("copying stopped: ") + std::strerror(moved.error),
                    moved.error);
    case Outcome::kNotPossible:
      way = next_way(way, moved.error);
    }
  }
}

void FileCopy::note(std::size_t number) {
  const std::lock_guard lock(mutex_);
  copied_[number] = true;
  while (first_missing_ < copied_.size() && copied_[first_missing_]) {
    ++first_missing_;
  }
  if (first_missing_ == 0 || first_missing_ == pieces_.size()) {
    return;
  }
  const Extent &last = pieces_[first_missing_ - 1];
  if (last.offset + last.length > noted_) { // for who is killed without a word
    noted_ = last.offset + last.length;
    note_bytes(out_.get(), from_, noted_);
  }
}

bool FileCopy::work() {
  ++inside_;
  try {
    for (std::size_t number = next_++; number < pieces_.size() && !stopped_; number = next_++) {
      copy_piece(number);
      ++done_;
    }
  } catch (const Failure &failure) {
    // What is there is in the way of others, or no part of what the source is now.
    discard_ =
        discard_ || failure.error() == ENOSPC || failure.error() == EDQUOT || failure.error() == 0;
    stopped_ = true;
    --inside_;
    throw;
  }
  // One thread sees that no other is inside and that all is done; which one does not matter.
  return --inside_ == 0 && done_ >= pieces_.size() && !stopped_ && !taken_.exchange(true);
}

void FileCopy::verify() {
  const std::string read = digest_of(in_.get(), from_.st_size, source_);
  result_.checksum = digest_on_device(out_.get(), from_.st_size, target_);
  if (result_.checksum != read) {
    throw Failure(target_, "differs from " + source_ + " when read again (checksums " +
                               result_.checksum + " and " + read + ")");
  }
}

// A file that is replaced would not be what it was.
void FileCopy::refuse_loss() const {
  struct stat now {};
  if (fstat(out_.get(), &now) != 0 || now.st_uid != from_.st_uid || now.st_gid != from_.st_gid) {
    throw Failure(source_, "its owner and group cannot be kept; it stays where it is");
  }
  if (!result_.lost.empty()) {
    throw Failure(source_, "cannot be kept as it is (" + result_.lost + "); it stays where it is");
  }
}

// What has the name by now is replaced at once.
bool FileCopy::take_name() {
  if (nameless_) {
    if (give_name(out_.get(), directory_->get(), entry_.name)) {
      return true;
    }
    if (errno != EEXIST || !give_name(out_.get(), directory_->get(), partial_)) {
      return false;
    }
    nameless_ = false;
  }
  return renameat(directory_->get(), partial_.c_str(), directory_->get(), entry_.name.c_str()) == 0;
}

Copied FileCopy::finish() {
  discard_ = true; // if anything fails now
  if (way_ == Way::kDirect) {
    set_direct(in_.get(), false);
    set_direct(out_.get(), false);
  }
  if (!shared_ && !grows_to_size_ && ftruncate(out_.get(), from_.st_size) != 0) {
    throw failed(target_, "cannot be given its size");
  }
  if (!nameless_ && !is_written(out_.get())) {
    throw failed(target_, "cannot be written to its end");
  }
  if (noted_ > 0 || there_ > 0) {
    forget_bytes(out_.get());
  }
  if (options_.verify) {
    verify();
  }
  result_.lost = keep_metadata(in_.get(), out_.get(), from_, made_);
  if (options_.replace) {
    refuse_loss();
  }
  if (options_.sync && fsync(out_.get()) != 0) {
    throw failed(target_, "cannot be brought to the device");
  }
  struct stat now {};
  if (!read_status(in_.get(), now) || now.st_size != from_.st_size ||
      !is_same_time(now.st_mtim, from_.st_mtim)) {
    throw Failure(source_, "changed while it was copied; copy it again");
  }
  if (options_.replace) {
    replace_unused(in_.get(), entry_, partial_, from_, options_.assume_unused);
  } else if (!take_name()) {
    throw failed(target_, "cannot be given its name");
  }
  finished_ = true;
  result_.source = source_;
  result_.target = target_;
  if (shared_) {
    result_.bytes = static_cast<std::uint64_t>(from_.st_size);
  }
  for (const Extent &piece : pieces_) {
    result_.bytes += static_cast<std::uint64_t>(piece.length);
  }
  if (result_.bytes > 0) {
    result_.way = way_;
  }
  return std::move(result_);
}

} // namespace ses::copy
