/* Rows of the database for Python: as tuples, and as the text of a PostgreSQL array. */
#ifndef SES_STATE_ROWS_MODULE_H
#define SES_STATE_ROWS_MODULE_H

#include <pybind11/pybind11.h>

namespace ses::state {

void bind_rows(pybind11::module_ &module);

} // namespace ses::state

#endif /* SES_STATE_ROWS_MODULE_H */
