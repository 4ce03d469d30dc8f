// The filter by which a listener is notified of creating calls of this process and all it starts.
#ifndef SES_RUN_NOTIFY_FILTER_H
#define SES_RUN_NOTIFY_FILTER_H

namespace ses::run {

// Installs the filter; returns the listener, or -errno: EBUSY when somebody listens already, EINVAL
// when the kernel is older than 5.19.
//
// Notified are open() and openat() with O_CREAT, creat(), mknod() and mknodat() of regular files,
// openat2() (whose flags a filter cannot see), and landlock_restrict_self(), after which nothing
// may be done on a process's behalf any more.  Nothing of programs for other machines or in 32-bit
// mode is.  Where it REFUSES_IO_URING, io_uring_setup() fails (ENOSYS).
//
// From then on the creating calls fail (ENOSYS) when nobody has the listener open; it cannot be
// undone. Without the right to do otherwise, sets no_new_privs: setuid programs started later gain
// no rights.
int install_notify_filter(bool refuses_io_uring);

} // namespace ses::run

#endif // SES_RUN_NOTIFY_FILTER_H
