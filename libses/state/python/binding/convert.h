/*
 * Values of Python and of records.h, each turned into the other: `in(object, value)` and
 * `out(value)`.
 *
 * What is plain in both is described once, by the names of its members.  The classes of Python are
 * handed in by name (`classes()`), so that nothing here imports them.  Needs the interpreter's
 * lock.
 */
#ifndef SES_STATE_CONVERT_H
#define SES_STATE_CONVERT_H

#include "records.h"

#include <pybind11/pybind11.h>
#include <tuple>
#include <type_traits>

namespace ses::state {

namespace py = pybind11;

/* Classes of Python by their names; "held_text" is a function that gives the row of what a place
 * has. */
void use_classes(const py::dict &classes);
py::object class_of(const char *name);

template <class T> struct Described; /* name, and fields: pairs of a name and a member */
template <class T>
concept IsDescribed = requires {
  Described<T>::fields;
};

inline void in(py::handle from, double &to) {
  to = PyFloat_AsDouble(from.ptr());
  if (to == -1.0 && PyErr_Occurred())
    throw py::error_already_set();
}
inline void in(py::handle from, bool &to) { to = PyObject_IsTrue(from.ptr()) == 1; }
template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) void in(py::handle from, T &to) {
  to = from.cast<T>();
}
void in(py::handle from, std::string &to);
void in(py::handle from, KindPtr &to);
void in(py::handle from, ElementPtr &to);
template <Named E> void in(py::handle from, E &to);
template <IsDescribed T> void in(py::handle from, T &to);
template <class T> void in(py::handle from, std::shared_ptr<const T> &to);
template <class T> void in(py::handle from, std::optional<T> &to);
void in(py::handle from, Sample &to);

template <class T> void in(py::handle from, std::vector<T> &to) {
  to.clear();
  for (py::handle item : from)
    in(item, to.emplace_back());
}
template <class T> void in(py::handle from, std::optional<T> &to) {
  if (from.is_none())
    to.reset();
  else
    in(from, to.emplace());
}
template <class T> void in(py::handle from, std::shared_ptr<const T> &to) {
  if (from.is_none())
    return to.reset();
  auto made = std::make_shared<T>();
  in(from, *made);
  to = std::move(made);
}
template <Named E> void in(py::handle from, E &to) {
  std::string name;
  in(from, name);
  auto known = named<E>(name);
  if (!known)
    throw py::value_error(name);
  to = *known;
}
template <IsDescribed T> void in(py::handle from, T &to) {
  std::apply([&](const auto &...field) { (in(from.attr(field.first), to.*field.second), ...); },
             Described<T>::fields);
}

inline py::object out(double value) { return py::float_(value); }
inline py::object out(bool value) { return py::bool_(value); }
template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) py::object out(T value) {
  return py::int_(value);
}
py::object out(std::string_view text);
inline py::object out(const std::string &text) { return out(std::string_view(text)); }
inline py::object out(const Handle &object) {
  return py::reinterpret_borrow<py::object>(static_cast<PyObject *>(object.get()));
}
inline py::object out(const KindPtr &kind) { return out(kind->object); }
inline py::object out(const ElementPtr &element) { return out(element->object); }
template <Named E> py::object out(E value);
template <IsDescribed T> py::object out(const T &value);
template <class T> py::object out(const std::shared_ptr<const T> &value);
template <class T> py::object out(const std::optional<T> &value);
template <class T> py::object out(const std::vector<T> &values);
inline py::object out(const Sample &sample) {
  return py::make_tuple(sample[0], sample[1], sample[2]);
}

template <class T> py::object out(const std::optional<T> &value) {
  return value ? out(*value) : py::none();
}
template <class T> py::object out(const std::shared_ptr<const T> &value) {
  return value ? out(*value) : py::none();
}
template <class T> py::object out(const std::vector<T> &values) {
  py::tuple made(values.size());
  for (std::size_t at = 0; at < values.size(); at++)
    made[at] = out(values[at]);
  return made;
}
py::object member_of(const char *enumeration, std::string_view name);
template <Named E> py::object out(E value) { return member_of(Described<E>::name, name_of(value)); }
template <IsDescribed T> py::object out(const T &value) {
  return std::apply(
      [&](const auto &...field) {
        return class_of(Described<T>::name)(out(value.*field.second)...);
      },
      Described<T>::fields);
}

Handle handle_of(py::handle object);

#define SES_FIELD(type, member) std::pair(#member, &type::member)
#define SES_DESCRIBED(type, ...)                                                                   \
  template <> struct Described<type> {                                                             \
    static constexpr auto name = #type;                                                            \
    static constexpr auto fields = std::tuple(__VA_ARGS__);                                        \
  };

template <> struct Described<Doubt> { static constexpr auto name = "Doubt"; };
template <> struct Described<Verdict> { static constexpr auto name = "Verdict"; };
template <> struct Described<Cause> { static constexpr auto name = "Cause"; };
template <> struct Described<EndReason> { static constexpr auto name = "EndReason"; };
SES_DESCRIBED(Subject, SES_FIELD(Subject, user), SES_FIELD(Subject, application),
              SES_FIELD(Subject, vo), SES_FIELD(Subject, node), SES_FIELD(Subject, job))
SES_DESCRIBED(Prediction, SES_FIELD(Prediction, kind), SES_FIELD(Prediction, value),
              SES_FIELD(Prediction, bound), SES_FIELD(Prediction, shortfall))
SES_DESCRIBED(Achieved, SES_FIELD(Achieved, bytes_written), SES_FIELD(Achieved, bytes_read),
              SES_FIELD(Achieved, writing_seconds), SES_FIELD(Achieved, reading_seconds),
              SES_FIELD(Achieved, open_seconds), SES_FIELD(Achieved, bytes_on_device),
              SES_FIELD(Achieved, doubts), SES_FIELD(Achieved, samples))
SES_DESCRIBED(KindVerdict, SES_FIELD(KindVerdict, kind), SES_FIELD(KindVerdict, bound),
              SES_FIELD(KindVerdict, predicted), SES_FIELD(KindVerdict, achieved),
              SES_FIELD(KindVerdict, at_least), SES_FIELD(KindVerdict, verdict),
              SES_FIELD(KindVerdict, why))
SES_DESCRIBED(FileVerdict, SES_FIELD(FileVerdict, verdict), SES_FIELD(FileVerdict, kinds),
              SES_FIELD(FileVerdict, worst), SES_FIELD(FileVerdict, cause),
              SES_FIELD(FileVerdict, why), SES_FIELD(FileVerdict, load))

} // namespace ses::state

#endif /* SES_STATE_CONVERT_H */
