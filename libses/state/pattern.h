/*
 * The pattern of a path: what changes from run to run is replaced by #.  Pure; below a microsecond.
 *
 * Runs of digits, numbers in hex, UUIDs and random names as mkstemp() makes them are replaced; a
 * short ending of the name stays.  Of a long path, that of the last parts and of the ends of these.
 * UTF-8.
 */
#ifndef SES_STATE_PATTERN_H
#define SES_STATE_PATTERN_H

#include <string>
#include <string_view>

namespace ses::state {

std::string pattern_of(std::string_view path);

} // namespace ses::state

#endif /* SES_STATE_PATTERN_H */
