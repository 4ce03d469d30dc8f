/* See pattern.h. */
#include "pattern.h"

#include <algorithm>

namespace ses::state {

namespace {

constexpr std::size_t max_parts = 16, max_part = 100, max_pattern = 200; /* of characters */
constexpr std::size_t random_length = 6, random_changes = 3, hex_length = 8, max_ending = 4;

bool digit(char character) { return character >= '0' && character <= '9'; }
bool small(char character) { return character >= 'a' && character <= 'z'; }
bool large(char character) { return character >= 'A' && character <= 'Z'; }
bool letter(char character) { return small(character) || large(character); }
bool plain(char character) { return digit(character) || letter(character); }
bool hex(char character) {
  return digit(character) || (character >= 'a' && character <= 'f') ||
         (character >= 'A' && character <= 'F');
}

std::string_view last(std::string_view text, std::size_t characters) {
  std::size_t at = text.size();
  while (at > 0 && characters > 0)
    if ((static_cast<unsigned char>(text[--at]) & 0xc0U) != 0x80)
      characters--;
  return text.substr(at);
}

bool is_uuid(std::string_view text) {
  if (text.size() < 36)
    return false;
  for (std::size_t at = 0; at < 36; at++) {
    bool dash = at == 8 || at == 13 || at == 18 || at == 23;
    if (dash ? text[at] != '-' : !hex(text[at]))
      return false;
  }
  return true;
}

/* How often letters and digits, or small and large letters, come after each other. */
std::size_t changes(std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; at + 1 < part.size(); at++) {
    char here = part[at], next = part[at + 1];
    count += (digit(here) && letter(next)) || (letter(here) && digit(next)) ||
             (small(here) && large(next));
  }
  return count;
}

/* PART consists of letters and digits. */
void blur_part(std::string &out, std::string_view part) {
  bool number = part.size() >= hex_length && std::all_of(part.begin(), part.end(), hex) &&
                std::any_of(part.begin(), part.end(), digit);
  if (number || (part.size() >= random_length && changes(part) >= random_changes)) {
    out += '#';
    return;
  }
  for (std::size_t at = 0; at < part.size(); at++)
    if (!digit(part[at]))
      out += part[at];
    else if (at == 0 || !digit(part[at - 1]))
      out += '#';
}

void blur(std::string &out, std::string_view text) {
  std::string without;
  if (text.find('-') != std::string_view::npos) {
    for (std::size_t at = 0; at < text.size();) {
      bool is_id = is_uuid(text.substr(at));
      without += is_id ? '#' : text[at];
      at += is_id ? 36 : 1;
    }
    text = without;
  }
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && plain(text[end]))
      end++;
    if (end == at)
      out += text[at++];
    else
      blur_part(out, text.substr(at, end - at));
    at = std::max(at, end);
  }
}

/* Where a short ending of a name begins; the end of the name where it has none. */
std::size_t ending(std::string_view name) {
  std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == name.size() || !letter(name[dot + 1]))
    return name.size();
  auto rest = name.substr(dot + 1);
  return rest.size() <= max_ending && std::all_of(rest.begin(), rest.end(), plain) ? dot
                                                                                   : name.size();
}

} // namespace

std::string pattern_of(std::string_view path) {
  std::size_t parts = 1, begin = path.size();
  while (begin > 0 && (path[begin - 1] != '/' || parts++ < max_parts))
    begin--; /* what is before the last parts is left out */
  std::string out;
  auto rest = path.substr(begin);
  for (std::size_t slash = rest.find('/'); slash != std::string_view::npos;
       slash = rest.find('/')) {
    blur(out, last(rest.substr(0, slash), max_part));
    out += '/';
    rest.remove_prefix(slash + 1);
  }
  auto name = last(rest, max_part);
  auto stem = ending(name);
  blur(out, name.substr(0, stem));
  out += name.substr(stem);
  return std::string(last(out, max_pattern));
}

} // namespace ses::state
