/*
 * Whether any node reaches storage that meets what a job must have, by a file that `ses nodes
 * publish` writes on the machine where jobs are submitted.
 *
 * The file: a line "ses-offers 2 SECONDS", when it was written, in seconds since 1970; then, one a
 * line, "ELEMENT WRITE READ FREE NODES": what a stream that starts now would get there from these
 * nodes in MB/s, the free capacity in GB ("-": not known), and the nodes as Slurm writes them ("-":
 * too many to be written).  Of each class of nodes it has the elements that no other equals in all
 * three.
 */
#ifndef SES_SLURM_PUBLISHED_H
#define SES_SLURM_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

#define SES_PUBLISHED_SECONDS 300 /* a file that is older does not count */

/* False: no line of FILE meets the hard requirements of TEXT (as SES_REQUIRE takes it),
 * and WHY names the nearest.  True also where that is unknown: no hard requirement, no file,
 * one that is too old or is not understood.  Average rates are not in the file, and refuse nothing.
 * Waits for nobody. */
bool ses_published_offer_exists(const char *file, const char *text, char *why, size_t size);

#endif /* SES_SLURM_PUBLISHED_H */
