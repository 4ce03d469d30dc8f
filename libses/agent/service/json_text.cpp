#include "service/json_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "service/json.h"

namespace ses::agent {
namespace {

bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

} // namespace

void JsonText::begin(std::string_view name) {
  if (!is_first_) {
    text_ += ',';
  }
  is_first_ = false;
  if (!name.empty()) {
    text_ += '"';
    text_ += name;
    text_ += "\":";
  }
}

void JsonText::quote(std::string_view value) {
  if (!std::all_of(value.begin(), value.end(), is_plain)) {
    text_ += text_of(nlohmann::json(value));
    return;
  }
  text_ += '"';
  text_ += value;
  text_ += '"';
}

void JsonText::open(std::string_view name, char bracket) {
  begin(name);
  text_ += bracket;
  is_first_ = true;
}

void JsonText::close(char bracket) {
  text_ += bracket;
  is_first_ = false;
}

void JsonText::put(std::string_view name, std::string_view value) {
  begin(name);
  quote(value);
}

void JsonText::put(std::string_view name, double value) {
  char number[32];
  const auto end = std::to_chars(number, number + sizeof number, value).ptr;
  put_raw(name, std::isfinite(value) ? std::string_view(number, static_cast<size_t>(end - number))
                                     : "null");
}

void JsonText::put_text_or_null(std::string_view name, const std::string &value) {
  value.empty() ? put_null(name) : put(name, value);
}

void JsonText::put_raw(std::string_view name, std::string_view value) {
  begin(name);
  text_ += value;
}

void JsonText::put_id(std::string_view name, uint64_t id) {
  constexpr char kDigits[] = "0123456789abcdef";
  char text[16];
  for (int i = 15; i >= 0; --i, id >>= 4) {
    text[i] = kDigits[id & 15];
  }
  put(name, std::string_view(text, sizeof text));
}

} // namespace ses::agent
