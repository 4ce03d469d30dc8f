// Appends JSON to a text, for messages about thousands of files: without a JSON value in between.
#ifndef SES_AGENT_JSON_TEXT_H
#define SES_AGENT_JSON_TEXT_H

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace ses::agent {

class JsonText {
public:
  // LENGTH: about so long it will be.
  explicit JsonText(size_t length) { text_.reserve(length); }

  // The next member of an object, or of an array (an empty NAME); values are quoted as JSON asks,
  // what is no UTF-8 in them replaced; names are not.  Not finite numbers become null.
  void open(std::string_view name, char bracket); // '{' or '['
  void close(char bracket);
  void put(std::string_view name, std::string_view value);
  void put(std::string_view name, const char *value) { put(name, std::string_view(value)); }
  void put(std::string_view name, const std::string &value) { put(name, std::string_view(value)); }
  void put(std::string_view name, double value);
  template <std::integral Value> void put(std::string_view name, Value value) {
    if constexpr (std::same_as<Value, bool>) {
      put_raw(name, value ? "true" : "false");
    } else {
      put_raw(name, std::to_string(value));
    }
  }
  void put_null(std::string_view name) { put_raw(name, "null"); }
  void put_text_or_null(std::string_view name, const std::string &value);
  // VALUE as it is.
  void put_raw(std::string_view name, std::string_view value);
  // As format_id() gives it.
  void put_id(std::string_view name, uint64_t id);

  [[nodiscard]] std::string take() { return std::move(text_); }

private:
  void begin(std::string_view name);
  void quote(std::string_view value);

  std::string text_;
  bool is_first_ = true;
};

} // namespace ses::agent

#endif // SES_AGENT_JSON_TEXT_H
