/* What each file here binds, each in the file of its name. */
#ifndef SES_STATE_MODULES_H
#define SES_STATE_MODULES_H

#include "convert.h"

namespace ses::state {

void bind_placement(py::module_ &module);
void bind_rows(py::module_ &module);
void bind_counts(py::module_ &module);
void bind_ledger(py::module_ &module);
void bind_verdicts(py::module_ &module);
void bind_table(py::module_ &module);

/* Take requirements into an explanation, as Python has them. */
void why_of_requirements(Why &why, py::handle requirements);

} // namespace ses::state

#endif /* SES_STATE_MODULES_H */
