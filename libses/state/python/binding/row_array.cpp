/* See row_array.h.  A quote or backslash of a value is escaped twice: in its row, and in the array.
 */
#include "row_array.h"

#include <algorithm>
#include <charconv>

namespace ses::state {

void RowArray::begin() {
  _text += _text.size() > 1 ? ",\"(" : "\"(";
  _first = true;
}

void RowArray::end() { _text += ")\""; }

void RowArray::separate() {
  if (!_first)
    _text += ',';
  _first = false;
}

void RowArray::text(std::string_view value) {
  separate();
  _text += R"(\")";
  while (!value.empty()) {
    auto special = std::ranges::find_if(value, [](char c) { return c == '"' || c == '\\'; });
    auto before = static_cast<std::size_t>(special - value.begin());
    _text += value.substr(0, before);
    value.remove_prefix(before);
    if (!value.empty()) {
      (_text += R"(\\\)") += value.front();
      value.remove_prefix(1);
    }
  }
  _text += R"(\")";
}

void RowArray::number(double value) {
  separate();
  char text[32];
  _text.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void RowArray::integer(std::int64_t value) {
  separate();
  _text += std::to_string(value);
}

void RowArray::boolean(bool value) {
  separate();
  _text += value ? 't' : 'f';
}

void RowArray::bytes(std::string_view value) {
  static constexpr char digits[] = "0123456789abcdef";
  separate();
  _text += R"(\"\\\\x)";
  auto at = _text.size();
  _text.resize(at + 2 * value.size());
  for (char character : value) {
    auto byte = static_cast<unsigned char>(character);
    _text[at++] = digits[byte >> 4U];
    _text[at++] = digits[byte & 15U];
  }
  _text += R"(\")";
}

std::string RowArray::done() { return std::move(_text += '}'); }

} // namespace ses::state
