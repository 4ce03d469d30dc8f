// Exit statuses of ses-run where it does not become the program; those of env(1).
#ifndef SES_RUN_EXIT_STATUS_H
#define SES_RUN_EXIT_STATUS_H

namespace ses::run {

inline constexpr int kMisuse = 125;
inline constexpr int kCannotRun = 126;
inline constexpr int kNotFound = 127;

} // namespace ses::run

#endif // SES_RUN_EXIT_STATUS_H
