/* See convert.h. */
#include "convert.h"

#include "json.h"

namespace ses::state {

namespace {

/* Live as long as the process: the interpreter is gone before they would be. */
std::unordered_map<std::string, PyObject *> &known_classes() {
  static auto *known = new std::unordered_map<std::string, PyObject *>;
  return *known;
}

std::unordered_map<std::string, KindPtr> &known_kinds() {
  static auto *known = new std::unordered_map<std::string, KindPtr>;
  return *known;
}

constexpr std::size_t few_kinds = 4096;

Predicts predicts(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, Predicts>, 5> known{
      {{"current-read-rate", Predicts::read},
       {"average-read-rate", Predicts::average_read},
       {"current-write-rate", Predicts::write},
       {"average-write-rate", Predicts::average_write},
       {"free-capacity", Predicts::free}}};
  for (const auto &[name, value] : known)
    if (name == kind)
      return value;
  return Predicts::no;
}

} // namespace

void use_classes(const py::dict &classes) {
  for (auto [name, type] : classes)
    known_classes()[name.cast<std::string>()] =
        py::reinterpret_borrow<py::object>(type).release().ptr();
}

py::object class_of(const char *name) {
  return py::reinterpret_borrow<py::object>(known_classes().at(name));
}

py::object member_of(const char *enumeration, std::string_view name) {
  static auto *members = new std::unordered_map<std::string, PyObject *>;
  auto [there, added] = members->try_emplace(std::string(enumeration) + ' ' + std::string(name));
  if (added)
    there->second = class_of(enumeration)(out(name)).release().ptr();
  return py::reinterpret_borrow<py::object>(there->second);
}

Handle handle_of(py::handle object) {
  object.inc_ref();
  return {object.ptr(), [](void *held) {
            py::gil_scoped_acquire lock;
            Py_DECREF(static_cast<PyObject *>(held));
          }};
}

void in(py::handle from, std::string &to) {
  Py_ssize_t size = 0;
  const char *text = PyUnicode_AsUTF8AndSize(from.ptr(), &size);
  if (text != nullptr) {
    to.assign(text, static_cast<std::size_t>(size));
    return;
  }
  PyErr_Clear();
  auto bytes = py::reinterpret_steal<py::bytes>(
      PyUnicode_AsEncodedString(from.ptr(), "utf-8", "surrogatepass"));
  if (!bytes)
    throw py::error_already_set();
  to = bytes;
}

py::object out(std::string_view text) {
  PyObject *made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass");
  if (made == nullptr)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

void in(py::handle from, Sample &to) {
  for (std::size_t at = 0; at < to.size(); at++)
    in(from[py::int_(at)], to[at]);
}

void in(py::handle from, KindPtr &to) {
  std::string record;
  in(from.attr("record"), record);
  auto &known = known_kinds();
  if (auto there = known.find(record); there != known.end()) {
    to = there->second;
    return;
  }
  auto made = std::make_shared<Kind>();
  made->record = record;
  in(from.attr("value"), made->name);
  made->predicts = record == made->name ? predicts(record) : Predicts::no;
  in(from.attr("unit"), made->unit);
  in(from.attr("size"), made->size);
  in(from.attr("at_most"), made->at_most);
  made->object = handle_of(from);
  to = made;
  if (known.size() < few_kinds)
    known.emplace(record, to);
}

void in(py::handle from, ElementPtr &to) {
  auto made = std::make_shared<Element>();
  in(from.attr("id"), made->id);
  in(from.attr("storage_system"), made->system);
  in(from.attr("target"), made->target);
  made->row = "[";
  json::text(made->row, made->id);
  made->row += ", ";
  json::text(made->row, made->system);
  made->row += ", ";
  json::text(made->row, made->target);
  made->row += ']';
  made->number = number_of(made->id);
  for (py::handle pair : from.attr("stated")) {
    auto &[name, value] = made->stated.emplace_back();
    in(pair[py::int_(0)], name);
    in(pair[py::int_(1)], value);
  }
  made->object = handle_of(from);
  to = made;
}

} // namespace ses::state
