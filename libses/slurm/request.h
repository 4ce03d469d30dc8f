/*
 * What a job asks for by --storage and --storage-profile.
 */
#ifndef SES_SLURM_REQUEST_H
#define SES_SLURM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define SES_REQUEST_MAX 1024 /* bytes of a text of requirements, with the NUL */

struct ses_request {
  bool is_off;                   /* --storage=off: every create is the original call */
  char require[SES_REQUEST_MAX]; /* for SES_REQUIRE; empty: nothing stated */
};

/* Takes in TEXT of --storage.  False: WHY is what is wrong with it, in one sentence. */
bool ses_request_take(struct ses_request *request, const char *text, char *why, size_t size);

/* The hard requirements on the rates of now and on room, as "write=300 free=2000" in MB/s and GB.
 * False: there are none. */
bool ses_request_hard(const struct ses_request *request, char *text, size_t size);

#endif /* SES_SLURM_REQUEST_H */
