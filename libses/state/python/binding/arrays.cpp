/* See arrays.h. */
#include "arrays.h"

#include <charconv>
#include <string>

namespace ses::state {

namespace py = pybind11;

namespace {

void quoted(std::string &out, const char *text, Py_ssize_t size) {
  out += '"';
  for (Py_ssize_t at = 0; at < size; at++) {
    if (text[at] == '"' || text[at] == '\\')
      out += '\\';
    out += text[at];
  }
  out += '"';
}

void hexadecimal(std::string &out, const char *bytes, Py_ssize_t size) {
  static constexpr char digits[] = "0123456789abcdef";
  out += "\"\\\\x";
  for (Py_ssize_t at = 0; at < size; at++) {
    auto byte = static_cast<unsigned char>(bytes[at]);
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  out += '"';
}

void item(std::string &out, PyObject *value) {
  if (value == Py_None) {
    out += "NULL";
  } else if (PyUnicode_Check(value)) {
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr)
      throw py::error_already_set();
    quoted(out, text, size);
  } else if (PyBool_Check(value)) {
    out += value == Py_True ? 't' : 'f';
  } else if (PyFloat_Check(value)) {
    char text[32];
    out.append(text, std::to_chars(text, text + sizeof text, PyFloat_AS_DOUBLE(value)).ptr);
  } else if (PyBytes_Check(value)) {
    hexadecimal(out, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value));
  } else {
    auto shown = py::reinterpret_steal<py::object>(PyObject_Str(value));
    if (!shown)
      throw py::error_already_set();
    out += shown.cast<std::string>();
  }
}

/* The columns of rows, all of the same length, each as the text of an array. */
py::tuple arrays(const py::sequence &given) {
  auto rows =
      py::reinterpret_steal<py::object>(PySequence_Fast(given.ptr(), "rows are a sequence"));
  Py_ssize_t count = PySequence_Fast_GET_SIZE(rows.ptr());
  PyObject **each = PySequence_Fast_ITEMS(rows.ptr());
  Py_ssize_t width = count == 0 ? 0 : PyTuple_Size(each[0]);
  for (Py_ssize_t row = 0; row < count; row++)
    if (!PyTuple_Check(each[row]) || PyTuple_GET_SIZE(each[row]) != width)
      throw py::value_error("rows of one length are needed");
  py::tuple columns(static_cast<std::size_t>(width));
  for (Py_ssize_t column = 0; column < width; column++) {
    std::string out = "{";
    for (Py_ssize_t row = 0; row < count; row++) {
      if (row > 0)
        out += ',';
      item(out, PyTuple_GET_ITEM(each[row], column));
    }
    out += '}';
    columns[static_cast<std::size_t>(column)] = py::str(out);
  }
  return columns;
}

} // namespace

void bind_arrays(py::module_ &module) { module.def("arrays", &arrays); }

} // namespace ses::state
