// How a text of others is shown: on one line, and with nothing that steers a terminal.
#ifndef SES_SYSTEM_VISIBLE_H
#define SES_SYSTEM_VISIBLE_H

#include <cstdio>
#include <string>
#include <string_view>

namespace ses {

// The bytes of the first character of a text that is not empty, and its code; 0 bytes: no UTF-8.
struct Utf8Character {
  unsigned size, code;
};

inline Utf8Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) {
    return {1, lead};
  }
  const unsigned size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  unsigned code = lead & (0x7fu >> size);
  for (unsigned i = 1; i < size; ++i) {
    const unsigned next = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    if ((next & 0xc0) != 0x80) {
      return {0, 0};
    }
    code = code << 6 | (next & 0x3f);
  }
  constexpr unsigned kMinCode[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_one = lead >= 0xc2 && lead <= 0xf4 && code >= kMinCode[size] && code <= 0x10ffff &&
                      (code < 0xd800 || code > 0xdfff);
  return is_one ? Utf8Character{size, code} : Utf8Character{0, 0};
}

// TEXT with control characters, marks that turn the direction of text, separators of lines, and
// bytes that are no UTF-8 escaped: \x1b, \u202e.
inline std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [size, code] = first_character(text);
    const bool hidden = size == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0) ||
                        code == 0x61c || code == 0x200e || code == 0x200f || code == 0xfeff ||
                        (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    const unsigned bytes = size == 0 ? 1 : size;
    if (hidden) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, code > 0xff ? "\\u%04x" : "\\x%02x",
                    size == 0 ? static_cast<unsigned char>(text[0]) : code);
      out += escaped;
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

} // namespace ses

#endif // SES_SYSTEM_VISIBLE_H
