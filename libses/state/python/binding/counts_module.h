/* Counts, bounds and arrivals for Python; see counts_module.cpp. */
#ifndef SES_STATE_COUNTS_MODULE_H
#define SES_STATE_COUNTS_MODULE_H

#include <pybind11/pybind11.h>

namespace ses::state {

void bind_counts(pybind11::module_ &module);

} // namespace ses::state

#endif /* SES_STATE_COUNTS_MODULE_H */
