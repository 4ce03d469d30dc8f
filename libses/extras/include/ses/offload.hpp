/*
 * libses-offload for C++17 and later: functions of this program run where their data lie.
 *
 *     std::vector<std::string> lines_with(const std::string &path, const std::string &word);
 *
 *     int main(int argc, char **argv) {
 *       using namespace ses::offload;
 *       ses_offload_init(&argc, &argv);                    // which role is this?
 *       add<lines_with>("lines_with");
 *       ses_offload_serve();                               // storage part: never returns
 *       Domain store("store1");
 *       if (auto found = store.call<lines_with>("/data/big.txt", "ERROR"))
 *         use(*found);
 *       else
 *         std::cerr << found.message();
 *     }
 *
 * Header only, over the C interface in ses/offload.h, which says in full what each call does,
 * its limits, threads and failures; only that is ABI.  Link with ses::offload
 * (CMake, find_package(ses-offload)) or `pkg-config --libs ses-offload`.
 *
 * A function takes and returns values: numbers, std::string, std::vector, std::pair, std::tuple,
 * and structures whose members are listed:
 *
 *     struct Query { std::string word; std::vector<double> weights; };
 *     template <> struct ses::offload::Members<Query> {
 *       static constexpr auto list = std::make_tuple(&Query::word, &Query::weights);
 *     };
 *
 * An exception that leaves it there is the failure of the call here, with its text; throw Failure
 * to set the number, too.  Nothing in here throws but std::bad_alloc, and what a caller's copies
 * throw.
 */
#ifndef SES_OFFLOAD_HPP
#define SES_OFFLOAD_HPP

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ses/offload.h"
#include "ses/offload_coding.hpp"

namespace ses::offload {

/* Thrown by an offloaded function: the number and text that the caller gets.  Not 0. */
class Failure : public std::runtime_error {
public:
  Failure(int number, const std::string &text) : std::runtime_error(text), number_(number) {}
  [[nodiscard]] int number() const noexcept { return number_; }

private:
  int number_;
};

namespace detail {

template <auto Function> struct Signature;
template <class R, class... A, R (*Function)(A...)> struct Signature<Function> {
  using In = std::tuple<std::decay_t<A>...>;
  /* What returns nothing gives an empty value. */
  using Out = std::conditional_t<std::is_void_v<R>, std::monostate, std::decay_t<R>>;

  /* The function as C knows it. */
  static int run(const void *in, void *out) noexcept {
    try {
      auto &arguments = **static_cast<In *const *>(in);
      if constexpr (std::is_void_v<R>) {
        std::apply(Function, arguments);
        *static_cast<Out **>(out) = new Out();
      } else {
        *static_cast<Out **>(out) = new Out(std::apply(Function, arguments));
      }
      return 0;
    } catch (const Failure &failure) {
      ses_offload_explain(failure.what());
      return failure.number() != 0 ? failure.number() : 1;
    } catch (const std::exception &error) {
      ses_offload_explain(error.what());
    } catch (...) {
      ses_offload_explain("an exception without a text");
    }
    return 1;
  }
};

} // namespace detail

/* Makes a function callable by a name, on both sides, before ses_offload_serve.  OK, INVALID, FULL.
 */
template <auto Function> int add(const char *name) {
  using Signature = detail::Signature<Function>;
  return ses_offload_register_function(name, &Signature::run,
                                       detail::boxed<typename Signature::In>(),
                                       detail::boxed<typename Signature::Out>());
}

/* What became of a call: true, and what the function returned; or false, and why not. */
template <class T> class Outcome {
public:
  [[nodiscard]] explicit operator bool() const noexcept { return value_.has_value(); }
  [[nodiscard]] int status() const noexcept { return report_.status; } /* a ses_offload_status */
  /* The function's own number when status() is SES_OFFLOAD_FAILED. */
  [[nodiscard]] int number() const noexcept { return report_.function_status; }
  [[nodiscard]] std::string message() const {
    const std::string text = ses_offload_strerror(report_.status);
    return report_.message[0] ? text + ": " + report_.message : text;
  }
  [[nodiscard]] const ses_offload_report &report() const noexcept { return report_; }

  /* Only if true. */
  [[nodiscard]] T &operator*() noexcept { return *value_; }
  [[nodiscard]] const T &operator*() const noexcept { return *value_; }
  T *operator->() noexcept { return &*value_; }

private:
  template <class> friend class Future;
  std::optional<T> value_;
  ses_offload_report report_{};
};

/* A call on its way.  Its domain must live longer.  Destroyed early, it gives the call up. */
template <class T> class Future {
public:
  Future(Future &&other) noexcept
      : future_(std::exchange(other.future_, nullptr)), status_(other.status_) {}
  Future &operator=(Future &&other) noexcept {
    std::swap(future_, other.future_);
    std::swap(status_, other.status_);
    return *this;
  }
  ~Future() { ses_offload_free(future_); }

  /* Has it ended, so that get() does not wait? */
  [[nodiscard]] bool ready() const noexcept {
    return !future_ || ses_offload_poll(future_) != SES_OFFLOAD_NOT_YET;
  }

  /* Waits for the result; once.  At most so many seconds, if not negative: then the status may be
   * SES_OFFLOAD_NOT_YET, and it can be asked again. */
  [[nodiscard]] Outcome<T> get(double seconds = -1) {
    Outcome<T> outcome;
    T *value = nullptr;
    outcome.report_.status = status_;
    if (future_) {
      const int status = ses_offload_wait(future_, seconds, &value, &outcome.report_);
      outcome.report_.status = status;
    }
    if (value) {
      outcome.value_ = std::move(*value);
      delete value;
    }
    return outcome;
  }

  /* Gives the call up, as ses_offload_cancel does. */
  void cancel() noexcept { ses_offload_cancel(future_); }

private:
  friend class Domain;
  explicit Future(ses_offload_future *future, int status) noexcept
      : future_(future), status_(status) {}
  ses_offload_future *future_;
  int status_; /* why there is none */
};

/* A storage part; it ends with this object. */
class Domain {
public:
  /* Starts it at an address of ses_offload_open.  Ask the object whether that went well. */
  explicit Domain(const char *address, const ses_offload_options *options = nullptr)
      : status_(ses_offload_open(address, options, &domain_)), reason_(ses_offload_reason()) {}

  /* Starts it on the node that holds a file, as ses_offload_open_file does. */
  [[nodiscard]] static Domain of_file(const std::string &path,
                                      const ses_offload_options *options = nullptr) {
    Domain domain;
    domain.status_ = ses_offload_open_file(path.c_str(), options, &domain.domain_);
    domain.reason_ = ses_offload_reason();
    return domain;
  }

  Domain(Domain &&other) noexcept
      : domain_(std::exchange(other.domain_, nullptr)), status_(other.status_),
        reason_(std::move(other.reason_)) {}
  Domain &operator=(Domain &&other) noexcept {
    std::swap(domain_, other.domain_);
    std::swap(status_, other.status_);
    std::swap(reason_, other.reason_);
    return *this;
  }
  ~Domain() { ses_offload_close(domain_); }

  [[nodiscard]] explicit operator bool() const noexcept { return domain_ != nullptr; }
  [[nodiscard]] int status() const noexcept { return status_; }
  /* Why it failed, or fell back to calls in this process; "" if it did not. */
  [[nodiscard]] const std::string &reason() const noexcept { return reason_; }

  /* Runs a function that was added, and waits for it. */
  template <auto Function, class... A>
  [[nodiscard]] Outcome<typename detail::Signature<Function>::Out> call(A &&...arguments) {
    return start<Function>(std::forward<A>(arguments)...).get();
  }

  /* Lets it run.  What goes in is copied before this returns. */
  template <auto Function, class... A>
  [[nodiscard]] Future<typename detail::Signature<Function>::Out> start(A &&...arguments) {
    using Signature = detail::Signature<Function>;
    typename Signature::In in(std::forward<A>(arguments)...);
    auto *boxed = &in;
    ses_offload_future *future = nullptr;
    const char *name = ses_offload_find_name_by_func_addr(&Signature::run);
    const int status = !domain_ ? status_
                       : !name  ? static_cast<int>(SES_OFFLOAD_NO_FUNCTION)
                                : ses_offload_start(domain_, name, &boxed, &future);
    return Future<typename Signature::Out>(future, status);
  }

private:
  Domain() = default;

  ses_offload_domain *domain_ = nullptr;
  int status_ = SES_OFFLOAD_NOT_STARTED;
  std::string reason_;
};

} // namespace ses::offload

#endif // SES_OFFLOAD_HPP
