/* The table of the decision core for Python; see table_module.cpp. */
#ifndef SES_STATE_TABLE_MODULE_H
#define SES_STATE_TABLE_MODULE_H

#include <pybind11/pybind11.h>

namespace ses::state {

void bind_table(pybind11::module_ &module);

} // namespace ses::state

#endif /* SES_STATE_TABLE_MODULE_H */
