/* Comparing numbers of which some are not known (NaN), without the mathematics library: the preload
 * library links libc alone. */
#ifndef SES_CORE_NUMBER_H
#define SES_CORE_NUMBER_H

#include <stdbool.h>

static inline double not_a_number(void) { return __builtin_nan(""); }
static inline bool is_number(double value) { return value == value; }
/* The second where either is not known. */
static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }
/* The smaller of VALUE and LIMIT; VALUE where no limit is known. */
static inline double least(double value, double limit) { return limit < value ? limit : value; }

#endif /* SES_CORE_NUMBER_H */
