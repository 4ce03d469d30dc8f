/* What Python sees of records; see placement.cpp. */
#ifndef SES_STATE_PLACEMENT_H
#define SES_STATE_PLACEMENT_H

#include "convert.h"

namespace ses::state {

/* Take requirements into an explanation, as Python has them. */
void why_of_requirements(Why &why, py::handle requirements);

void bind_placement(py::module_ &module);

} // namespace ses::state

#endif /* SES_STATE_PLACEMENT_H */
