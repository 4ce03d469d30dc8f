/* Writing JSON: texts in ASCII, numbers as short as they are read back the same.  Appends to OUT.
 */
#ifndef SES_STATE_JSON_H
#define SES_STATE_JSON_H

#include "described.h"

#include <utility>

namespace ses::state::json {

/* TEXT is UTF-8, in which lone surrogates may be. */
void text(std::string &out, std::string_view text);
void number(std::string &out, double number);

inline void put(std::string &out, double value) { number(out, value); }
inline void put(std::string &out, std::size_t value) { out += std::to_string(value); }
inline void put(std::string &out, const std::string &value) { text(out, value); }
inline void put(std::string &out, const KindPtr &kind) { text(out, kind->record); }
template <Named E> void put(std::string &out, E value) { text(out, name_of(value)); }
template <IsDescribed T> void put(std::string &out, const T &value);
template <class T> void put(std::string &out, const std::vector<T> &values);
template <class T> void put(std::string &out, const std::optional<T> &value) {
  value ? put(out, *value) : void(out += "null");
}
template <class T> void put(std::string &out, const std::shared_ptr<const T> &value) {
  value ? put(out, *value) : void(out += "null");
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

inline void put(std::string &out, const Sample &sample) {
  list(out, sample, [&](double value) { number(out, value); });
}
template <class T> void put(std::string &out, const std::vector<T> &values) {
  list(out, values, [&](const T &value) { put(out, value); });
}
template <IsDescribed T> void put(std::string &out, const T &value) {
  char before = '{';
  auto member = [&](const auto &field) {
    (out += std::exchange(before, ',')).append("\"").append(field.first).append("\":");
    put(out, value.*field.second);
  };
  std::apply([&](const auto &...field) { (member(field), ...); }, Described<T>::fields);
  out += '}';
}

} // namespace ses::state::json

#endif /* SES_STATE_JSON_H */
