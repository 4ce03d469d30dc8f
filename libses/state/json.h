/* Writing JSON: texts in ASCII, numbers as short as they are read back the same.  Appends to OUT.
 */
#ifndef SES_STATE_JSON_H
#define SES_STATE_JSON_H

#include <optional>
#include <string>
#include <string_view>

namespace ses::state::json {

/* TEXT is UTF-8, in which lone surrogates may be. */
void text(std::string &out, std::string_view text);
void number(std::string &out, double number);

inline void number(std::string &out, const std::optional<double> &value) {
  value ? number(out, *value) : void(out += "null");
}

/* What goes between the items of a list: nothing before the first. */
template <class List, class Each> void list(std::string &out, const List &items, Each each) {
  out += '[';
  bool first = true;
  for (const auto &item : items) {
    if (!first)
      out += ',';
    first = false;
    each(item);
  }
  out += ']';
}

} // namespace ses::state::json

#endif /* SES_STATE_JSON_H */
