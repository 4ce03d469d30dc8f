/*
 * The files of an announcement, read from its JSON.
 *
 * Takes what is right in every respect, as `ses-service/openapi.yaml` says.  Whatever is doubtful
 * (a member that is not known, one too many, a number too large) is left to who can say what is
 * wrong with it.  Reads a few hundred megabytes a second.  No lock, no system call but for memory;
 * from any thread.
 */
#ifndef SES_STATE_DECODE_H
#define SES_STATE_DECODE_H

#include "ledger.h"

namespace ses::state {

struct Decoded {
  Files files;
  std::string rest; /* the message without them */
};

/* Nothing where it is doubtful. */
std::optional<Decoded> decode(std::string_view body);

} // namespace ses::state

#endif /* SES_STATE_DECODE_H */
