/* Rows for drivers of databases, for Python. */
#include "modules.h"

#include "row_array.h"
#include "table_rows.h"

#include <algorithm>
#include <pybind11/stl.h>

namespace ses::state {

namespace {

/* The values of one row, as Python has them. */
class Tuple {
public:
  void null() { _values.append(py::none()); }
  void text(std::string_view value) { _values.append(out(value)); }
  void number(double value) { _values.append(out(value)); }
  void integer(std::int64_t value) { _values.append(out(value)); }
  void boolean(bool value) { _values.append(out(value)); }
  void bytes(std::string_view value) { _values.append(py::bytes(value.data(), value.size())); }
  py::tuple done() const { return py::tuple(_values); }

private:
  py::list _values;
};

/* Rows that are made into either form when they are asked for. */
class Rows {
public:
  virtual ~Rows() = default;
  virtual std::size_t size() const = 0;
  virtual py::list tuples(std::size_t begin, std::size_t end) const = 0;
  virtual std::string array(std::size_t begin, std::size_t end) const = 0;
};

/* Of placements; VALUES puts those of one into a row. */
template <class Values> class PlacedRows : public Rows {
public:
  PlacedRows(std::vector<PlacementPtr> placements, Values values)
      : _placements(std::move(placements)), _values(std::move(values)) {}
  std::size_t size() const override { return _placements.size(); }
  py::list tuples(std::size_t begin, std::size_t end) const override {
    py::list made;
    for (auto at = begin; at < std::min(end, size()); at++) {
      Tuple row;
      _values(row, *_placements[at], at);
      made.append(row.done());
    }
    return made;
  }
  std::string array(std::size_t begin, std::size_t end) const override {
    py::gil_scoped_release others;
    RowArray made;
    for (auto at = begin; at < std::min(end, size()); at++) {
      made.begin();
      _values(made, *_placements[at], at);
      made.end();
    }
    return made.done();
  }

private:
  std::vector<PlacementPtr> _placements;
  Values _values;
};

void add(RowArray &row, py::handle value) {
  if (value.is_none())
    row.null();
  else if (py::isinstance<py::str>(value))
    row.text(value.cast<std::string_view>());
  else if (py::isinstance<py::bytes>(value))
    row.bytes(value.cast<std::string_view>());
  else if (py::isinstance<py::float_>(value))
    row.number(value.cast<double>());
  else
    row.integer(value.cast<std::int64_t>());
}

/* That Python made: tuples of texts, bytes and numbers. */
class MadeRows : public Rows {
public:
  explicit MadeRows(std::vector<py::tuple> rows) : _rows(std::move(rows)) {}
  std::size_t size() const override { return _rows.size(); }
  py::list tuples(std::size_t begin, std::size_t end) const override {
    py::list made;
    for (auto at = begin; at < std::min(end, size()); at++)
      made.append(_rows[at]);
    return made;
  }
  std::string array(std::size_t begin, std::size_t end) const override {
    RowArray made;
    for (auto at = begin; at < std::min(end, size()); at++) {
      made.begin();
      for (py::handle value : _rows[at])
        add(made, value);
      made.end();
    }
    return made.done();
  }

private:
  std::vector<py::tuple> _rows;
};

template <class Values>
std::unique_ptr<Rows> placed(std::vector<PlacementPtr> placements, Values values) {
  return std::make_unique<PlacedRows<Values>>(std::move(placements), std::move(values));
}

std::unique_ptr<Rows> placement_rows(std::vector<PlacementPtr> placements,
                                     std::vector<Text> explanations, std::string service) {
  if (explanations.size() != placements.size())
    throw py::value_error("an explanation, or none, of each placement is needed");
  return placed(std::move(placements),
                [explanations = std::move(explanations), service = std::move(service)](
                    auto &row, const Placement &placement, std::size_t at) {
                  placement_row(row, placement, explanations[at], service);
                });
}

} // namespace

void bind_rows(py::module_ &module) {
  py::class_<Rows>(module, "Rows")
      .def(py::init([](std::vector<py::tuple> rows) -> std::unique_ptr<Rows> {
        return std::make_unique<MadeRows>(std::move(rows));
      }))
      .def("__len__", &Rows::size)
      .def("tuples", &Rows::tuples)
      .def("array", &Rows::array);
  module.def("compressed", [](const py::bytes &body) {
    return py::bytes(compressed(static_cast<std::string_view>(body)));
  });
  module.def("placement_rows", &placement_rows);
  module.def("notified",
             [](const std::vector<PlacementPtr> &placements, double now, std::size_t most) {
               py::dict texts;
               for (const auto &[node, reported] : notified(placements, now, most))
                 texts[out(node)] = reported;
               return texts;
             });
  module.def("file_rows", [](std::vector<PlacementPtr> placements) {
    return placed(std::move(placements), [](auto &row, const Placement &placement, std::size_t) {
      file_row(row, placement);
    });
  });
}

} // namespace ses::state
