/* Verdicts for Python; see verdict_module.cpp. */
#ifndef SES_STATE_VERDICT_MODULE_H
#define SES_STATE_VERDICT_MODULE_H

#include <pybind11/pybind11.h>

namespace ses::state {

void bind_verdicts(pybind11::module_ &module);

} // namespace ses::state

#endif /* SES_STATE_VERDICT_MODULE_H */
