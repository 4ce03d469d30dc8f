/*
 * Looking at a path that a program gave, whose address may be no address: the
 * original call answers EFAULT then, so looking must not raise a signal.
 *
 * Does NOT guard against a path that another thread unmaps meanwhile.
 */
#ifndef SES_PATH_H
#define SES_PATH_H

#include <stddef.h>

/* The length of PATH in bytes; 0: it is empty, longer than any path, or cannot be read to its end.
 * That many bytes can be read. */
size_t ses_path_length(const char *path);

#endif /* SES_PATH_H */
