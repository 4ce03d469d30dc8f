/* Texts that rows of the database have of a placement.  Pure. */
#ifndef SES_STATE_ROWS_H
#define SES_STATE_ROWS_H

#include "records.h"

namespace ses::state {

/* JSON lists: of elements, of predictions, of notes. */
std::string elements_text(const Placement &placement);
std::string predicted_text(const Placement &placement);
std::string notes_text(const Placement &placement);

/* What other services are notified of: whether it opened, is idle, was ended by its node, or
 * otherwise; and JSON that says so.  One on too many elements to be named has none. */
enum class Notified : std::uint8_t { opened, idle, ended, lapsed };
std::pair<Notified, std::string> notification_of(const Placement &placement, double now);

/* As zlib.decompress() takes it. */
std::string compressed(std::string_view body);

/* JSON of all that is known of a file that ended, compressed. */
std::string detail_body(const Placement &placement);

/* A text that every database takes: PostgreSQL has no NUL, and UTF-8 no lone surrogates. */
bool is_plain(std::string_view text);
std::string plain(std::string_view text);

} // namespace ses::state

#endif /* SES_STATE_ROWS_H */
