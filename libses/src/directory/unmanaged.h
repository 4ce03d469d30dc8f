/*
 * Ways to directories, as programs wrote them, that led a short time ago to a
 * device that holds no placed files: a storm of creates there costs one look.
 *
 * Remembered for ten milliseconds.  What changes meanwhile (a mount, a
 * symbolic link, chroot()) delays placement by that much and nothing else: a
 * create that counts as elsewhere is the original call.  Does NOT remember
 * relative ways, whose start the program can move.
 */
#ifndef SES_UNMANAGED_H
#define SES_UNMANAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What WAY, LENGTH bytes beginning with '/', is remembered by. */
uint64_t ses_unmanaged_key(const char *way, size_t length);

bool ses_unmanaged_is(uint64_t key);
void ses_unmanaged_remember(uint64_t key);

#endif /* SES_UNMANAGED_H */
