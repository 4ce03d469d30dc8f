#include "service/json.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ses/protocol.h"

namespace ses::agent {

using nlohmann::json;

std::string text_of(const json &value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string escape_path(const std::string &text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      char escaped[4];
      std::snprintf(escaped, sizeof escaped, "%%%02X", byte);
      out += escaped;
    }
  }
  return out;
}

std::string format_id(uint64_t id) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return text;
}

uint64_t parse_id(const std::string &text) {
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw std::invalid_argument("placement id");
  }
  return std::stoull(text, nullptr, 16);
}

uint32_t backend_number(const std::string &name) {
  if (name == "mergerfs") {
    return SES_BACKEND_MERGERFS;
  }
  if (name == "lustre") {
    return SES_BACKEND_LUSTRE;
  }
  return name == "cephfs" ? SES_BACKEND_CEPHFS : SES_BACKEND_NONE;
}

std::string absolute_path(const json &value) {
  auto path = value.get<std::string>();
  if (!path.starts_with('/') || path.find('\0') != std::string::npos) {
    throw std::invalid_argument("path");
  }
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

const json *field_of(const json &object, const char *name) {
  const auto field = object.find(name);
  return field == object.end() || field->is_null() ? nullptr : &*field;
}

std::string text_field(const json &object, const char *name) {
  const json *field = field_of(object, name);
  return field == nullptr ? "" : field->get<std::string>();
}

// By hand: what get<int>() makes of 1e61 is undefined.
uint64_t whole(const json &value, uint64_t most) {
  const auto number = value.get<double>();
  if (!(number >= 0 && number < 0x1p64)) {
    throw std::invalid_argument("whole number");
  }
  const auto result =
      value.is_number_float() ? static_cast<uint64_t>(number) : value.get<uint64_t>();
  if (result > most) {
    throw std::invalid_argument("whole number");
  }
  return result;
}

std::optional<double> number_field(const json &object, const char *name) {
  const json *field = field_of(object, name);
  if (field == nullptr) {
    return std::nullopt;
  }
  const auto value = field->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

} // namespace ses::agent
