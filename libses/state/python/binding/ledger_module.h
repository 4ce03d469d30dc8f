/* The ledger for Python; see ledger_module.cpp. */
#ifndef SES_STATE_LEDGER_MODULE_H
#define SES_STATE_LEDGER_MODULE_H

#include <pybind11/pybind11.h>

namespace ses::state {

void bind_ledger(pybind11::module_ &module);

} // namespace ses::state

#endif /* SES_STATE_LEDGER_MODULE_H */
