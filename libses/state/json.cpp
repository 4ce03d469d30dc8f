/* See json.h. */
#include "json.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace ses::state::json {

namespace {
void unit(std::string &out, unsigned code) {
  static constexpr char digits[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4)
    out += digits[code >> shift & 15U];
}

void escaped(std::string &out, std::uint32_t code) {
  switch (code) {
  case '"':
    out += "\\\"";
    return;
  case '\\':
    out += "\\\\";
    return;
  case '\n':
    out += "\\n";
    return;
  case '\r':
    out += "\\r";
    return;
  case '\t':
    out += "\\t";
    return;
  case '\b':
    out += "\\b";
    return;
  case '\f':
    out += "\\f";
    return;
  default:
    break;
  }
  if (code < 0x10000)
    return unit(out, code);
  unit(out, 0xd800U + ((code - 0x10000U) >> 10U));
  unit(out, 0xdc00U + ((code - 0x10000U) & 0x3ffU));
}
} // namespace

void text(std::string &out, std::string_view text) {
  out += '"';
  auto stands = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  for (std::size_t at = 0; at < text.size();) {
    auto begin = at;
    while (at < text.size() && stands(text[at]))
      at++;
    out += text.substr(begin, at - begin);
    if (at == text.size())
      break;
    auto byte = static_cast<unsigned char>(text[at]);
    std::size_t more = byte < 0x80 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    std::uint32_t code = more == 0 ? byte : byte & (0x3fU >> more);
    for (at++; more > 0 && at < text.size(); more--, at++)
      code = code << 6U | (static_cast<unsigned char>(text[at]) & 0x3fU);
    escaped(out, code);
  }
  out += '"';
}

void number(std::string &out, double number) {
  if (!std::isfinite(number)) {
    out += std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
    return;
  }
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, number).ptr;
  out.append(text, end);
}

} // namespace ses::state::json
