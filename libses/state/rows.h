/* Texts that rows of the database have of a placement.  Pure. */
#ifndef SES_STATE_ROWS_H
#define SES_STATE_ROWS_H

#include "records.h"

#include <map>

namespace ses::state {

/* JSON lists: of elements, of predictions, of notes. */
std::string elements_text(const Placement &placement);
std::string predicted_text(const Placement &placement);
std::string notes_text(const Placement &placement);

/* What other services are notified of, by node: texts of four JSON lists, of files that opened, are
 * idle, were ended by their node, or otherwise.  Lists of a text have about MOST bytes together.  A
 * file on too many elements to be named has none. */
std::map<std::string, std::vector<std::string>>
notified(const std::vector<PlacementPtr> &placements, double now, std::size_t most);

/* As zlib.decompress() takes it. */
std::string compressed(std::string_view body);

/* JSON of all that is known of a file that ended, compressed. */
std::string detail_body(const Placement &placement);

/* A text that every database takes: PostgreSQL has no NUL, and UTF-8 no lone surrogates. */
bool is_plain(std::string_view text);
std::string plain(std::string_view text);

} // namespace ses::state

#endif /* SES_STATE_ROWS_H */
