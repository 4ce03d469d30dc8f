/* Ids and numbers of elements; see records.h. */
#include "records.h"

namespace ses::state {

std::string text_of(Id id) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t at = 16; at-- > 0; id >>= 4)
    text[at] = digits[id & 15];
  return text;
}

std::optional<Id> id_of(std::string_view text) {
  if (text.size() != 16)
    return {};
  Id id = 0;
  for (char digit : text) {
    if (digit >= '0' && digit <= '9')
      id = id << 4 | static_cast<Id>(digit - '0');
    else if (digit >= 'a' && digit <= 'f')
      id = id << 4 | static_cast<Id>(digit - 'a' + 10);
    else
      return {};
  }
  return id;
}

namespace {
std::unordered_map<std::string, std::uint32_t> &table() {
  static auto *names =
      new std::unordered_map<std::string, std::uint32_t>; /* lives as long as the process */
  return *names;
}
} // namespace

std::uint32_t number_of(const std::string &element) {
  return table().try_emplace(element, static_cast<std::uint32_t>(table().size())).first->second;
}

std::uint32_t numbers() { return static_cast<std::uint32_t>(table().size()); }

} // namespace ses::state
