/* The module `ses_state._state`: the state of the service for Python. */
#include "decode.h"
#include "modules.h"
#include "pattern.h"

namespace {

namespace py = pybind11;
using namespace ses::state;

/* The files of an announcement, and the rest of it as JSON; None where it is doubtful. */
py::object decoded(const py::bytes &body) {
  std::optional<Decoded> read;
  {
    auto text = static_cast<std::string_view>(body);
    py::gil_scoped_release others;
    read = decode(text);
  }
  if (!read)
    return py::none();
  return py::make_tuple(std::make_shared<Files>(std::move(read->files)), py::bytes(read->rest));
}

} // namespace

PYBIND11_MODULE(_state, module) {
  module.def("use_classes", &use_classes);
  bind_placement(module);
  bind_rows(module);
  bind_ledger(module);
  bind_verdicts(module);
  bind_table(module);
  module.def("decode", &decoded);
  module.def("pattern_of", [](py::handle path) {
    std::string text;
    in(path, text);
    return out(pattern_of(text));
  });
}
