/*
 * How C++ values travel between a program and its storage part; see ses/offload.hpp.
 *
 * The library moves objects as plain bytes, so a value travels as a pointer to it (its box), which
 * is made where it is read and deleted where it is released.
 */
#ifndef SES_OFFLOAD_CODING_HPP
#define SES_OFFLOAD_CODING_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ses/offload_types.h"

namespace ses::offload {

/* Specialise it for a structure: `list`, a tuple of pointers to its members, at least one. */
template <class T> struct Members;

/* How a type travels; specialise it for types of your own.  `name` tells builds apart. */
template <class T, class = void> struct Coding;

template <class T> struct Coding<T, std::enable_if_t<std::is_integral_v<T>>> {
  static std::string name() {
    return (std::is_signed_v<T> ? "i" : "u") + std::to_string(sizeof(T));
  }
  static void write(const T &value, ses_offload_writer *to) {
    if constexpr (std::is_signed_v<T>)
      ses_offload_write_integer(to, value);
    else
      ses_offload_write_unsigned(to, value);
  }
  static void read(T &value, ses_offload_reader *from) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_signed_v<T>)
      value = static_cast<T>(ses_offload_read_integer(from, Limits::min(), Limits::max()));
    else
      value = static_cast<T>(ses_offload_read_unsigned(from, Limits::max()));
  }
};

template <> struct Coding<double> {
  static std::string name() { return "double"; }
  static void write(const double &value, ses_offload_writer *to) {
    ses_offload_write_real(to, value);
  }
  static void read(double &value, ses_offload_reader *from) { value = ses_offload_read_real(from); }
};
template <> struct Coding<float> {
  static std::string name() { return "float"; }
  static void write(const float &value, ses_offload_writer *to) {
    ses_offload_write_real(to, static_cast<double>(value));
  }
  static void read(float &value, ses_offload_reader *from) {
    value = static_cast<float>(ses_offload_read_real(from));
  }
};

template <> struct Coding<std::string> {
  static std::string name() { return "string"; }
  static void write(const std::string &value, ses_offload_writer *to) {
    ses_offload_write_bytes(to, value.data(), value.size());
  }
  static void read(std::string &value, ses_offload_reader *from) {
    std::size_t size = 0;
    if (const void *data = ses_offload_read_bytes(from, &size))
      value.assign(static_cast<const char *>(data), size);
  }
};

namespace detail {

/* How deep vectors nest in this thread's reading or writing. */
class Depth {
public:
  Depth() noexcept { ++depth(); }
  Depth(const Depth &) = delete;
  Depth &operator=(const Depth &) = delete;
  ~Depth() { --depth(); }
  [[nodiscard]] static bool too_deep() noexcept { return depth() > SES_OFFLOAD_DEPTH_MAX; }

private:
  static std::size_t &depth() noexcept {
    thread_local std::size_t depth = 0;
    return depth;
  }
};

} // namespace detail

template <class T> struct Coding<std::vector<T>> {
  /* A structure may have a vector of its own kind, so its name is not gone into. */
  static std::string name() {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
      return "[" + Coding<T>::name() + "]";
    return "[*]";
  }
  static void write(const std::vector<T> &value, ses_offload_writer *to) {
    const detail::Depth here;
    if (here.too_deep())
      return ses_offload_write_failed(to);
    ses_offload_write_unsigned(to, value.size());
    for (const T &element : value)
      Coding<T>::write(element, to);
  }
  static void read(std::vector<T> &value, ses_offload_reader *from) {
    const detail::Depth here;
    if (here.too_deep())
      return ses_offload_read_failed(from);
    const std::size_t count = ses_offload_read_count(from);
    for (std::size_t i = 0; i < count && ses_offload_reader_ok(from); i++) {
      T element{};
      Coding<T>::read(element, from);
      value.push_back(std::move(element));
    }
  }
};

namespace detail {

template <class... T> std::string names() {
  return (std::string("{") + ... + (Coding<T>::name() + " ")) + "}";
}

template <class Tuple> struct Together;
template <template <class...> class Tuple, class... T> struct Together<Tuple<T...>> {
  static std::string name() { return names<T...>(); }
  static void write(const Tuple<T...> &value, ses_offload_writer *to) {
    std::apply([&](const T &...elements) { (Coding<T>::write(elements, to), ...); }, value);
  }
  static void read(Tuple<T...> &value, ses_offload_reader *from) {
    std::apply([&](T &...elements) { (Coding<T>::read(elements, from), ...); }, value);
  }
};

template <class Structure, class Member> Member member_of(Member Structure::*);

} // namespace detail

template <class... T> struct Coding<std::tuple<T...>> : detail::Together<std::tuple<T...>> {};
template <class A, class B> struct Coding<std::pair<A, B>> : detail::Together<std::pair<A, B>> {};

template <> struct Coding<std::monostate> {
  static std::string name() { return "nothing"; }
  static void write(const std::monostate &, ses_offload_writer *) {}
  static void read(std::monostate &, ses_offload_reader *) {}
};

template <class T> struct Coding<T, std::void_t<decltype(Members<T>::list)>> {
  static_assert(std::tuple_size_v<decltype(Members<T>::list)> > 0, "list at least one member");
  static std::string name() {
    return std::apply(
        [](auto... member) { return detail::names<decltype(detail::member_of(member))...>(); },
        Members<T>::list);
  }
  static void write(const T &value, ses_offload_writer *to) {
    std::apply(
        [&](auto... member) {
          (Coding<decltype(detail::member_of(member))>::write(value.*member, to), ...);
        },
        Members<T>::list);
  }
  static void read(T &value, ses_offload_reader *from) {
    std::apply(
        [&](auto... member) {
          (Coding<decltype(detail::member_of(member))>::read(value.*member, from), ...);
        },
        Members<T>::list);
  }
};

namespace detail {

/* No exception leaves these: C calls them.  Memory that is short makes the data bad. */
template <class T> struct Box {
  static void write(const ses_offload_type *, const void *object, ses_offload_writer *to) noexcept {
    const T *value = *static_cast<T *const *>(object);
    try {
      if (value)
        return Coding<T>::write(*value, to);
    } catch (...) {
    }
    ses_offload_write_failed(to);
  }
  static void read(const ses_offload_type *, void *object, ses_offload_reader *from) noexcept {
    T *&value = *static_cast<T **>(object);
    try {
      value = new T();
      return Coding<T>::read(*value, from);
    } catch (...) {
    }
    ses_offload_read_failed(from);
  }
  static void release(const ses_offload_type *, void *object) noexcept {
    delete *static_cast<T **>(object);
  }
};

/* The type of a pointer to a T, as the library knows types; valid for ever. */
template <class T> const ses_offload_type *boxed() {
  static const std::string name = Coding<T>::name();
  static const ses_offload_type type = {
      name.c_str(), sizeof(T *), Box<T>::write, Box<T>::read, Box<T>::release, nullptr, 0};
  return &type;
}

} // namespace detail
} // namespace ses::offload

#endif // SES_OFFLOAD_CODING_HPP
