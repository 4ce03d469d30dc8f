/* Counts, bounds and arrivals for Python. */
#include "modules.h"

#include "bounds.h"
#include "ledger.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace ses::state {

SES_DESCRIBED(Refusals, SES_FIELD(Refusals, too_many_open), SES_FIELD(Refusals, too_fast),
              SES_FIELD(Refusals, invalid), SES_FIELD(Refusals, node), SES_FIELD(Refusals, at))

namespace {

using Floats = py::array_t<double, py::array::c_style>;
using Codes = py::array_t<std::uint32_t, py::array::c_style | py::array::forcecast>;

/* Of a stream that no placement stands for, a number that is its own. */
Id stream_in(const std::string &name) {
  return id_of(name).value_or(std::hash<std::string>()(name));
}

std::vector<std::uint32_t> numbers_in(const py::iterable &names) {
  std::vector<std::uint32_t> numbers;
  for (py::handle name : names)
    numbers.push_back(number_of(name.cast<std::string>()));
  return numbers;
}

} // namespace

void bind_counts(py::module_ &module) {
  py::class_<Counter>(module, "Counter")
      .def(py::init<>())
      .def("bind",
           [](Counter &counter, const Codes &device, const Codes &room,
              const std::vector<std::string> &elements, std::array<Floats, 6> counts) {
             for (const auto &column : counts)
               if (column.size() != device.size() || room.size() != device.size() ||
                   elements.size() != static_cast<std::size_t>(device.size()))
                 throw py::value_error("columns of one length are needed");
             counter.bind({device.data(), static_cast<std::size_t>(device.size())},
                          {room.data(), static_cast<std::size_t>(room.size())}, elements,
                          {counts[0].mutable_data(), counts[1].mutable_data(),
                           counts[2].mutable_data(), counts[3].mutable_data(),
                           counts[4].mutable_data(), counts[5].mutable_data()});
           })
      .def("begin",
           [](Counter &counter, const std::string &stream, const py::iterable &elements,
              double began, const Number &bytes) {
             counter.begin(stream_in(stream), numbers_in(elements), began, bytes);
           })
      .def("end",
           [](Counter &counter, const std::string &stream, const py::iterable &elements,
              double began, const Number &bytes, double now) {
             counter.end(stream_in(stream), numbers_in(elements), began, bytes, now);
           })
      .def("count", [](Counter &counter, const py::iterable &elements, double number,
                       double bytes) { counter.count(numbers_in(elements), number, bytes); })
      .def("placed", [](Counter &counter, const py::iterable &elements,
                        double at) { counter.placed(numbers_in(elements), at); })
      .def("observe",
           [](Counter &counter, double horizon, const Floats &sampled_at, double window,
              Floats averaged) {
             if (static_cast<std::size_t>(sampled_at.size()) != counter.rows() ||
                 static_cast<std::size_t>(averaged.size()) != counter.rows())
               throw py::value_error("a sample of each row is needed");
             counter.observe(horizon, sampled_at.data(), window, averaged.mutable_data());
           })
      .def("take_changed", [](Counter &counter) {
        auto rows = counter.take_changed();
        py::array_t<std::int64_t> made(static_cast<py::ssize_t>(rows.size()));
        std::copy(rows.begin(), rows.end(), made.mutable_data());
        return made;
      });
  py::class_<FileBounds>(module, "FileBounds")
      .def(py::init<double, std::int64_t, double>())
      .def("opened", &FileBounds::opened, py::arg("node"), py::arg("user"),
           py::arg("job") = py::none())
      .def("refuses", &FileBounds::refuses)
      .def("note_invalid",
           [](FileBounds &bounds, std::int64_t count) { bounds.refusals.invalid += count; })
      .def_property_readonly("begun", &FileBounds::begun)
      .def_property_readonly("refusals",
                             [](const FileBounds &bounds) { return out(bounds.refusals); });
  py::class_<Recent>(module, "Recent")
      .def(py::init<>())
      .def("count", &Recent::count)
      .def("rate", &Recent::rate);
  py::class_<Arrivals>(module, "SystemArrivals")
      .def(py::init<>())
      .def("count", &Arrivals::count)
      .def("of_node", &Arrivals::of_node)
      .def("of_other_nodes", &Arrivals::of_other_nodes)
      .def("forget", &Arrivals::forget)
      .def_property_readonly("nodes", &Arrivals::nodes);
}

} // namespace ses::state
