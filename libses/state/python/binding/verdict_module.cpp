/* Verdicts for Python. */
#include "modules.h"

#include "ledger.h"
#include "verdict.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace ses::state {

namespace {

using Floats = py::array_t<double, py::array::c_style | py::array::forcecast>;

std::span<const double> column(const Floats &values) {
  return {values.data(), static_cast<std::size_t>(values.size())};
}

/* Find what came of some files that ended, and keep it: for each the VO, the element, the verdict,
 * whether it had one before, and achieved over predicted. */
py::list judge(Ledger &ledger, const LoadHistory &history, std::size_t limit) {
  py::list judged;
  for (; limit > 0 && !ledger.to_judge.empty(); limit--) {
    auto placement = ledger.to_judge.front();
    ledger.to_judge.pop_front();
    double begin = placement->opened_at.value_or(placement->placed_at);
    const auto &element = placement->elements.at(0)->id;
    auto verdict = std::make_shared<const FileVerdict>(verdict_of(
        *placement, history.during(element, begin, placement->ended_at.value_or(begin))));
    bool again = placement->file_verdict != nullptr; /* its figures came late */
    if (ledger.keep_verdict(placement, verdict))
      judged.append(py::make_tuple(out(placement->subject->vo), out(element), out(verdict->verdict),
                                   again,
                                   out(prediction_error(*verdict, placement->achieved.get()))));
  }
  return judged;
}

} // namespace

void bind_verdicts(py::module_ &module) {
  py::class_<ElementLoad>(module, "ElementLoad")
      .def(py::init(
          [](py::handle points, py::handle busy, double health, double first, double most) {
            ElementLoad load{{}, {}, health, first, most};
            in(points, load.points);
            in(busy, load.busy);
            return load;
          }))
      .def_property_readonly("points", [](const ElementLoad &load) { return out(load.points); })
      .def_readonly("busy", &ElementLoad::busy)
      .def_readonly("health", &ElementLoad::health)
      .def_readonly("first", &ElementLoad::first)
      .def_readonly("most", &ElementLoad::most);
  py::class_<LoadHistory>(module, "LoadHistory")
      .def(py::init<>())
      .def("__len__", &LoadHistory::size)
      .def("bind", &LoadHistory::bind)
      .def("record",
           [](LoadHistory &history, double now, const Floats &busy, const Floats &health,
              const Floats &streams) {
             if (busy.size() != health.size() || busy.size() != streams.size())
               throw py::value_error("columns of one length are needed");
             history.record(now, column(busy), column(health), column(streams));
           })
      .def("during", &LoadHistory::during);
  module.def("file_verdict_of",
             [](const Placement &placement, const std::optional<ElementLoad> &load) {
               return out(verdict_of(placement, load));
             });
  module.def("prediction_error", [](py::handle verdict, py::handle achieved) {
    FileVerdict judged;
    AchievedPtr figures;
    in(verdict, judged);
    in(achieved, figures);
    return prediction_error(judged, figures.get());
  });
  module.def("judge", &judge);
}

} // namespace ses::state
