/*
 * libses-share for C++17 and later: values shared in memory by the processes of a node.
 *
 *     struct Best { double score; std::uint64_t step; };
 *
 *     auto run = ses::share::Region::open_or_create("run-7");
 *     auto best = run.have<Best>("best");
 *     best.put({0.93, 1200});                        // in one process
 *     if (std::optional<Best> now = best.get())      // in others; nothing: none was put yet
 *       use(*now);
 *     { std::lock_guard held(best); ... }            // get, change and put as one step
 *
 * Header only, over the C interface in ses/share.h, which says in full what each call does, the
 * coherence models and the limits; only that is ABI.  Link with ses::share
 * (CMake, find_package(ses-share)) or `pkg-config --libs ses-share`.
 *
 * A value is of a type that can be copied byte by byte.  What fails throws std::system_error with
 * the error number of ses/share.h; but for the answers that a caller must expect, which are empty.
 */
#ifndef SES_SHARE_HPP
#define SES_SHARE_HPP

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "ses/share.h"

namespace ses::share {

namespace detail {

inline void check(int status, const std::string &what) {
  if (status != 0)
    throw std::system_error(status, std::generic_category(), what);
}

struct Close {
  void operator()(ses_share *share) const noexcept { ses_share_close(share); }
};

struct LetGo {
  void operator()(ses_share_item *item) const noexcept { ses_share_let_go(item); }
};

} // namespace detail

/* A value of type T.  Keep its region for as long; one thread at a time. */
template <typename T> class Item {
  static_assert(std::is_trivially_copyable_v<T>, "a value is copied byte by byte");

public:
  explicit Item(ses_share_item *item) noexcept : item_(item) {}

  /* Its version. */
  std::uint64_t put(const T &value) {
    std::uint64_t version = 0;
    detail::check(ses_share_put(item_.get(), &value, sizeof value, &version), "put");
    return version;
  }

  /* Nothing: none was put yet, or it is older than the item's age. */
  [[nodiscard]] std::optional<T> get() {
    T value;
    std::size_t bytes = 0;
    const int status = ses_share_get(item_.get(), &value, sizeof value, &bytes, nullptr);
    return value_of(status, bytes, value);
  }

  /* Nothing: it was not put yet, or is not kept any more. */
  [[nodiscard]] std::optional<T> copy(std::uint64_t version) {
    T value;
    std::size_t bytes = 0;
    const int status = ses_share_copy(item_.get(), version, &value, sizeof value, &bytes);
    return value_of(status, bytes, value);
  }

  /* Of the last put; 0: none yet. */
  [[nodiscard]] std::uint64_t version() {
    std::uint64_t version = 0;
    detail::check(ses_share_version(item_.get(), &version, nullptr), "version");
    return version;
  }

  /* Until there is a later version; false: none came in time. */
  [[nodiscard]] bool await(std::uint64_t version) {
    const int status = ses_share_await(item_.get(), version);
    if (status != ETIMEDOUT)
      detail::check(status, "await");
    return status == 0;
  }

  void refresh() noexcept { ses_share_refresh(item_.get()); }

  /* As a mutex, for std::lock_guard.  True: who held it died, what it guards may be half done. */
  bool lock() {
    const int status = ses_share_lock(item_.get());
    if (status != EOWNERDEAD)
      detail::check(status, "lock");
    return status == EOWNERDEAD;
  }
  void unlock() { detail::check(ses_share_unlock(item_.get()), "unlock"); }

  /* For everybody; this one can only be destroyed then. */
  void free() {
    detail::check(ses_share_free(item_.get()), "free");
    (void)item_.release();
  }

  [[nodiscard]] ses_share_item *c() const noexcept { return item_.get(); }

private:
  std::optional<T> value_of(int status, std::size_t bytes, const T &value) {
    if (status == ENOENT || status == ETIME || status == ESTALE)
      return std::nullopt;
    detail::check(status == 0 && bytes != sizeof value ? EMSGSIZE : status, "get");
    return value;
  }

  std::unique_ptr<ses_share_item, detail::LetGo> item_;
};

/* A region that is open. */
class Region {
public:
  static Region create(const std::string &name, const ses_share_options &options = {}) {
    ses_share *share = nullptr;
    detail::check(ses_share_create(name.c_str(), &options, &share), name);
    return Region(share);
  }

  static Region open(const std::string &name) {
    ses_share *share = nullptr;
    detail::check(ses_share_open(name.c_str(), &share), name);
    return Region(share);
  }

  static Region open_or_create(const std::string &name, const ses_share_options &options = {}) {
    ses_share *share = nullptr;
    int status = EEXIST;
    while (status == EEXIST) {
      status = ses_share_open(name.c_str(), &share);
      if (status == ENOENT)
        status = ses_share_create(name.c_str(), &options, &share);
    }
    detail::check(status, name);
    return Region(share);
  }

  static void remove(const std::string &name) {
    detail::check(ses_share_remove(name.c_str()), name);
  }

  /* How long a call waits for others; 5 seconds at first. */
  void patience(double seconds) noexcept { ses_share_patience(share_.get(), seconds); }

  /* KIND without `bytes`: those of T. */
  template <typename T> Item<T> alloc(const std::string &name, ses_share_kind kind = {}) {
    return item<T>(ses_share_alloc, name, kind);
  }
  template <typename T> Item<T> have(const std::string &name, ses_share_kind kind = {}) {
    return item<T>(ses_share_have, name, kind);
  }
  template <typename T> Item<T> find(const std::string &name) {
    ses_share_item *item = nullptr;
    detail::check(ses_share_find(share_.get(), name.c_str(), &item), name);
    return Item<T>(item);
  }

  [[nodiscard]] ses_share *c() const noexcept { return share_.get(); }

private:
  explicit Region(ses_share *share) noexcept : share_(share) {}

  template <typename T, typename Make>
  Item<T> item(Make make, const std::string &name, ses_share_kind kind) {
    ses_share_item *item = nullptr;
    kind.bytes = kind.bytes ? kind.bytes : sizeof(T);
    detail::check(make(share_.get(), name.c_str(), &kind, &item), name);
    return Item<T>(item);
  }

  std::unique_ptr<ses_share, detail::Close> share_;
};

} // namespace ses::share

#endif /* SES_SHARE_HPP */
