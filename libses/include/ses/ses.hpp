/*
 * libses for C++17 and later: the StoragePolicy and LustreManager of the
 * QStorMan paper (Slota et al., Computer Science 13(1), 2012, Figure 3).
 *
 *     LustreManager manager;
 *     StoragePolicy policy;
 *
 *     policy.setAverageReadTransferRate(50);   // MB/s
 *     policy.setCapacity(100);                 // GB
 *
 *     int descriptor = manager.createFile("fileName.dat", &policy);
 *
 * Header only, over the C interface in ses/ses.h, which says in full what
 * each call does, its limits and its failures; only ses.h is ABI.  Link with
 * ses::ses (CMake) or `pkg-config --libs ses`.
 *
 * Nothing in here throws, except std::bad_alloc where a std::string argument
 * is made by the caller, or a vector returned.  The name LustreManager is the paper's: files are
 * placed on every storage system the site describes, Lustre or not.
 *
 * StoragePolicy and LustreManager are also found without `ses::`, as in the
 * paper; define SES_NO_GLOBAL_NAMES before including this to keep the global
 * namespace clean.
 */
#ifndef SES_SES_HPP
#define SES_SES_HPP

#if __cplusplus < 201703L
#error "ses/ses.hpp needs C++17 or later: compile with -std=c++17, or use ses/ses.h"
#else /* nothing below is shown to an older compiler: one error is enough */

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ses/ses.h"

namespace ses {

/* The numbers of ses.h: ses::Status::SES_OK is plain SES_OK. */
using Status = ses_status;
using Kind = ses_requirement_kind;

/* What a Status means, as one English clause; valid for ever, and NUL-terminated. */
inline std::string_view describe(Status status) noexcept { return ses_strerror(status); }

/*
 * What a file needs from storage.  Says nothing at first; then the
 * requirements stated in the portal apply, and each kind set here takes the
 * place of the portal's.
 *
 * A value: copies are independent.  One policy may be read by many threads
 * at once; changing it needs the caller's synchronisation.
 *
 * Setters return SES_OK, or a SES_REFUSED_* and leave the policy as it was.
 * Their answers may be ignored, as in Figure 3: status() keeps the first
 * refusal, and so does the Result of a create.
 * When memory is short at construction or copy, there is no policy: every
 * setter, status() and the Result of a create say SES_REFUSED_NO_POLICY, and
 * files are created as the portal says.  So it is with one that was moved
 * from, until another is assigned to it.
 */
class StoragePolicy {
public:
  StoragePolicy() noexcept : policy_(ses_policy_new()) {}
  ~StoragePolicy() { ses_policy_free(policy_); }

  StoragePolicy(const StoragePolicy &other) noexcept : policy_(ses_policy_copy(other.policy_)) {}
  StoragePolicy(StoragePolicy &&other) noexcept : policy_(std::exchange(other.policy_, nullptr)) {}
  StoragePolicy &operator=(StoragePolicy other) noexcept {
    std::swap(policy_, other.policy_);
    return *this;
  }

  /* At least this rate for one stream, in MB/s (10^6 bytes per second). */
  Status setCurrentReadTransferRate(double mbPerSecond) noexcept {
    return ses_policy_set_current_read_rate(policy_, mbPerSecond);
  }
  Status setAverageReadTransferRate(double mbPerSecond) noexcept {
    return ses_policy_set_average_read_rate(policy_, mbPerSecond);
  }
  Status setCurrentWriteTransferRate(double mbPerSecond) noexcept {
    return ses_policy_set_current_write_rate(policy_, mbPerSecond);
  }
  Status setAverageWriteTransferRate(double mbPerSecond) noexcept {
    return ses_policy_set_average_write_rate(policy_, mbPerSecond);
  }

  /* At least this much free space on the element, in GB (10^9 bytes). */
  Status setCapacity(double gb) noexcept { return ses_policy_set_capacity(policy_, gb); }

  /* How much a kind counts in the distance against the others; above 0; 1 unless set. */
  Status setWeight(Kind kind, double weight) noexcept {
    return ses_policy_set_weight(policy_, kind, weight);
  }

  /* Rather not placed at all than on an element that misses this kind. */
  Status setHard(Kind kind, bool hard = true) noexcept {
    return ses_policy_set_hard(policy_, kind, hard);
  }

  /* Say nothing about this kind any more. */
  Status clear(Kind kind) noexcept { return ses_policy_clear(policy_, kind); }

  /* How large the file is going to be, in bytes. */
  Status setExpectedSize(std::uint64_t bytes) noexcept {
    return ses_policy_set_expected_size(policy_, bytes);
  }

  /* Over how many elements to spread the file, and how many bytes at a time (a multiple of
   * SES_STRIPE_SIZE_STEP); 0: as the service chooses. */
  Status setStripeCount(unsigned count) noexcept {
    return ses_policy_set_stripe_count(policy_, count);
  }
  Status setStripeSize(std::uint64_t bytes) noexcept {
    return ses_policy_set_stripe_size(policy_, bytes);
  }

  /* Only elements of this pool; "": any. */
  Status setPool(const char *pool) noexcept { return ses_policy_set_pool(policy_, pool); }
  Status setPool(const std::string &pool) noexcept { return setPool(pool.c_str()); }

  /* Use the portal's requirements for this application of the calling user. */
  Status setApplication(const char *name) noexcept {
    return ses_policy_set_application(policy_, name);
  }
  Status setApplication(const std::string &name) noexcept { return setApplication(name.c_str()); }

  /* The first refusal since construction, else SES_OK. */
  [[nodiscard]] Status status() const noexcept { return ses_policy_status(policy_); }

  /* For calls of the C interface; owned by this object. */
  [[nodiscard]] const ses_policy *handle() const noexcept { return policy_; }

private:
  ses_policy *policy_;
};

/* What became of one create. */
class Result {
public:
  Result() noexcept : result_{} { result_.distance = -1; }

  /* The file is on element() because of the policy. */
  [[nodiscard]] bool placed() const noexcept { return result_.placed != 0; }
  [[nodiscard]] explicit operator bool() const noexcept { return placed(); }

  /* "system/element", NUL-terminated; empty if not placed.  Valid as long as this object. */
  [[nodiscard]] std::string_view element() const noexcept { return result_.element; }

  /* How far the element falls short of the requirements; 0: meets them all; -1 if not placed. */
  [[nodiscard]] double distance() const noexcept { return result_.distance; }

  /* What the service knows the placement by; 0 if not placed. */
  [[nodiscard]] std::uint64_t placementId() const noexcept { return result_.placement_id; }

  /* Who chose the element. */
  [[nodiscard]] ses_chooser chosenBy() const noexcept {
    return static_cast<ses_chooser>(result_.chosen_by);
  }

  /* SES_OK if placed (or before any create), else why not; and the same in English. */
  [[nodiscard]] Status reason() const noexcept { return static_cast<Status>(result_.reason); }
  [[nodiscard]] std::string_view message() const noexcept { return describe(reason()); }

  /* errno of open(2) if the create returned -1, else 0. */
  [[nodiscard]] int createErrno() const noexcept { return result_.create_errno; }

  /* errno of the step of placing that failed, with SES_NOT_PLACED_STEP_FAILED; else 0. */
  [[nodiscard]] int placeErrno() const noexcept { return result_.place_errno; }

  /* The first value the policy refused before this create, else SES_OK. */
  [[nodiscard]] Status policyStatus() const noexcept {
    return static_cast<Status>(result_.policy_status);
  }

  /* For calls of the C interface; owned by this object. */
  [[nodiscard]] ses_result *handle() noexcept { return &result_; }

private:
  ses_result result_;
};

/*
 * Where a file lies on Lustre, as it was when this was made; of a directory,
 * what it gives to new files.  A value that can be moved, not copied.
 */
class Layout {
public:
  explicit Layout(const char *path) noexcept
      : layout_(ses_layout_read(path)), error_(layout_ ? 0 : errno) {}
  ~Layout() { ses_layout_free(layout_); }
  Layout(Layout &&other) noexcept
      : layout_(std::exchange(other.layout_, nullptr)), error_(other.error_) {}
  Layout &operator=(Layout &&other) noexcept {
    std::swap(layout_, other.layout_);
    std::swap(error_, other.error_);
    return *this;
  }
  Layout(const Layout &) = delete;
  Layout &operator=(const Layout &) = delete;

  /* True when there is one; else error() says why not, as ses_layout_read() does. */
  [[nodiscard]] explicit operator bool() const noexcept { return layout_ != nullptr; }
  [[nodiscard]] int error() const noexcept { return error_; }

  [[nodiscard]] unsigned components() const noexcept { return ses_layout_components(layout_); }

  /* Component NUMBER (from 0); all zero when there is none. */
  [[nodiscard]] ses_component component(unsigned number) const noexcept {
    ses_component result;
    (void)ses_layout_component(layout_, number, &result);
    return result;
  }

  /* The OSTs that hold component NUMBER, in the order of stripes.  May throw std::bad_alloc. */
  [[nodiscard]] std::vector<std::uint32_t> osts(unsigned number = 0) const {
    std::vector<std::uint32_t> indices(ses_layout_osts(layout_, number, nullptr, 0));
    ses_layout_osts(layout_, number, indices.data(), static_cast<unsigned>(indices.size()));
    return indices;
  }

private:
  ses_layout *layout_;
  int error_;
};

/*
 * Creates files where a policy is served best.
 *
 * createFile returns a descriptor for reading and writing that the caller
 * owns, or -1 with errno as open(2) sets it.  A file that exists is emptied
 * and stays where it is.  If no place could be chosen the file is created all
 * the same, by the plain open(2); the Result says why.
 *
 * The policy is only read, during the call; nullptr: as the portal says.
 * Threads: lastResult() belongs to this object, so give each thread a manager
 * of its own, or share a const one and pass a Result.
 */
class LustreManager {
public:
  static constexpr mode_t defaultMode = 0666; /* before the umask, as std::ofstream has it */

  [[nodiscard]] int createFile(const char *name, const StoragePolicy *policy = nullptr,
                               mode_t mode = defaultMode) noexcept {
    return createFile(name, policy, last_, mode);
  }
  [[nodiscard]] int createFile(const std::string &name, const StoragePolicy *policy = nullptr,
                               mode_t mode = defaultMode) noexcept {
    return createFile(name.c_str(), policy, last_, mode);
  }

  /* The same, with the account of it in RESULT; lastResult() is left alone. */
  [[nodiscard]] int createFile(const char *name, const StoragePolicy *policy, Result &result,
                               mode_t mode = defaultMode) const noexcept {
    return createFileAt(AT_FDCWD, name, O_RDWR | O_TRUNC, policy, result, mode);
  }
  [[nodiscard]] int createFile(const std::string &name, const StoragePolicy *policy, Result &result,
                               mode_t mode = defaultMode) const noexcept {
    return createFile(name.c_str(), policy, result, mode);
  }

  /* The same as openat(DIRECTORY, NAME, FLAGS | O_CREAT, MODE): for O_EXCL, O_CLOEXEC, O_APPEND. */
  [[nodiscard]] int createFileAt(int directory, const char *name, int flags,
                                 const StoragePolicy *policy, Result &result,
                                 mode_t mode = defaultMode) const noexcept {
    const int descriptor = ses_create_at(directory, name, flags, mode,
                                         policy ? policy->handle() : nullptr, result.handle());
    if (policy != nullptr && policy->handle() == nullptr) {
      result.handle()->policy_status = SES_REFUSED_NO_POLICY;
    }
    return descriptor;
  }
  [[nodiscard]] int createFileAt(int directory, const std::string &name, int flags,
                                 const StoragePolicy *policy, Result &result,
                                 mode_t mode = defaultMode) const noexcept {
    return createFileAt(directory, name.c_str(), flags, policy, result, mode);
  }

  /* Where a file lies on Lustre now. */
  [[nodiscard]] Layout layout(const char *name) const noexcept { return Layout(name); }
  [[nodiscard]] Layout layout(const std::string &name) const noexcept {
    return Layout(name.c_str());
  }

  /*
   * Compute nodes for a task whose files need what POLICY says, as ses_find_nodes() finds them: at
   * most LIMIT, or COUNT of one job.  Empty with ERROR (if given) 0: none is left; else why not.
   * May throw std::bad_alloc.
   */
  [[nodiscard]] std::vector<ses_node> findNodes(const StoragePolicy *policy = nullptr,
                                                unsigned count = 1, const char *among = nullptr,
                                                unsigned limit = 10, int *error = nullptr) const {
    std::vector<ses_node> nodes(count > limit ? count : limit);
    const int node_count = ses_find_nodes(policy ? policy->handle() : nullptr, among, count,
                                          nodes.data(), static_cast<unsigned>(nodes.size()));
    if (error != nullptr) {
      *error = node_count < 0 ? errno : 0;
    }
    nodes.resize(node_count < 0 ? 0 : static_cast<std::size_t>(node_count));
    return nodes;
  }

  /* A directory of SYSTEM for this process, as ses_place_directory() gives it: 0, or an errno. */
  [[nodiscard]] int placeDirectory(const char *system, ses_place &place,
                                   const StoragePolicy *policy = nullptr,
                                   const char *name = nullptr) const noexcept {
    return ses_place_directory(system, policy ? policy->handle() : nullptr, name, &place) == 0
               ? 0
               : errno;
  }

  /* What became of the last createFile without a Result of its own. */
  [[nodiscard]] const Result &lastResult() const noexcept { return last_; }

private:
  Result last_;
};

} // namespace ses

#ifndef SES_NO_GLOBAL_NAMES
using ses::LustreManager;
using ses::StoragePolicy;
#endif

#endif /* C++17 */
#endif /* SES_SES_HPP */
