/* Values of a column as the text of a PostgreSQL array. */
#ifndef SES_STATE_ARRAYS_H
#define SES_STATE_ARRAYS_H

#include <pybind11/pybind11.h>

namespace ses::state {

void bind_arrays(pybind11::module_ &module);

} // namespace ses::state

#endif /* SES_STATE_ARRAYS_H */
