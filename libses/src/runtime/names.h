/*
 * Functions of the C library by their names, in programs that may have loaded little of it: before
 * glibc 2.34 dlsym() and pthread_testcancel() lay in libraries of their own.
 *
 * The library can so be loaded by whatever brings an older C library with it: a container's image,
 * an application with a loader of its own.  Its other names are of glibc 2.17 and earlier.
 */
#ifndef SES_NAMES_H
#define SES_NAMES_H

/* The next definition of NAME after this library's; NULL: there is none. */
void *ses_next_of(const char *name);

/* The first definition of NAME; NULL: there is none, or it cannot be asked for. */
void *ses_first_of(const char *name);

/* The thread ends here if it has been cancelled. */
void ses_test_cancel(void);

#endif /* SES_NAMES_H */
