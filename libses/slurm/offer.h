/*
 * Whether any node can meet what a job must have, by the service's answer where it is submitted.
 */
#ifndef SES_SLURM_OFFER_H
#define SES_SLURM_OFFER_H

#include <stdbool.h>
#include <stddef.h>

/* False: no node meets a hard requirement of TEXT (as SES_REQUIRE takes it), and WHY names the
 * nearest.  True also where that is unknown: no hard requirement, no service, no nodes known.
 * Starts the command `ses`, and waits for it. */
bool ses_offer_exists(const char *text, char *why, size_t size);

#endif /* SES_SLURM_OFFER_H */
