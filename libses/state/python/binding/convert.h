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

#include "described.h"

#include <pybind11/pybind11.h>
#include <type_traits>

namespace ses::state {

namespace py = pybind11;

/* Classes of Python by their names; "held_text" is a function that gives the row of what a place
 * has. */
void use_classes(const py::dict &classes);
py::object class_of(const char *name);

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

} // namespace ses::state

#endif /* SES_STATE_CONVERT_H */
