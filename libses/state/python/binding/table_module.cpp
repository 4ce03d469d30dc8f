/* The table of the decision core for Python. */
#include "modules.h"

#include "table.h"

#include <array>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace ses::state {

namespace {

using Floats = py::array_t<double, py::array::c_style>;
using Numbers = py::array_t<std::int64_t, py::array::c_style>;

template <class Array> auto span_of(const Array &array) {
  return std::span(array.data(), static_cast<std::size_t>(array.size()));
}

/* Of the array of numpy, whose rows are those of the core. */
std::span<ses_core_element> table_in(py::array &elements) {
  if (elements.itemsize() != sizeof(ses_core_element) ||
      (elements.flags() & py::array::c_style) == 0)
    throw py::value_error("this is not the table of the decision core");
  return {static_cast<ses_core_element *>(elements.mutable_data()),
          static_cast<std::size_t>(elements.size())};
}

/* Take the counts of some rows, and note that these changed at a version. */
void take(py::array elements, std::array<Floats, 6> counts, const Numbers &at, Numbers changed,
          std::int64_t version) {
  auto table = table_in(elements);
  bool fits = span_of(changed).size() == table.size();
  for (const auto &column : counts)
    fits = fits && span_of(column).size() == table.size();
  if (!fits)
    throw py::value_error("columns of the length of the table are needed");
  Counts counted{counts[0].mutable_data(), counts[1].mutable_data(), counts[2].mutable_data(),
                 counts[3].mutable_data(), counts[4].mutable_data(), counts[5].mutable_data()};
  auto *versions = changed.mutable_data();
  for (auto place : span_of(at)) {
    auto row = static_cast<std::size_t>(place);
    if (row >= table.size())
      throw py::index_error("no such row");
    take_counts(table[row], counted, row);
    versions[row] = version;
  }
}

} // namespace

void bind_table(py::module_ &module) {
  module.def("take_counts", &take, py::arg().noconvert(), py::arg(), py::arg(),
             py::arg().noconvert(), py::arg());
  module.def("loads", [](py::array elements, const Floats &sampled_at, const Numbers &changed,
                         const Numbers &rows, std::int64_t since, double now) {
    return py::bytes(loads_text(table_in(elements), span_of(sampled_at), span_of(changed),
                                span_of(rows), since, now));
  });
}

} // namespace ses::state
