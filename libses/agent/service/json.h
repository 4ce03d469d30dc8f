// The small pieces that messages to and from ses-service are made of.
//
// Readers throw an exception of nlohmann::json or std::invalid_argument on invalid input; the
// parser of a whole message catches it and refuses the message.
#ifndef SES_AGENT_SERVICE_JSON_H
#define SES_AGENT_SERVICE_JSON_H

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace ses::agent {

// VALUE as text.  A user's file name need not be UTF-8, JSON must be: other bytes are replaced.
[[nodiscard]] std::string text_of(const nlohmann::json &value);
// TEXT as one segment of a URL's path.
[[nodiscard]] std::string escape_path(const std::string &text);

// 16 lower-case hexadecimal digits, there and back.
[[nodiscard]] std::string format_id(uint64_t id);
[[nodiscard]] uint64_t parse_id(const std::string &text);
// enum ses_backend; SES_BACKEND_NONE for one this agent does not know.
[[nodiscard]] uint32_t backend_number(const std::string &name);
// A path that begins with a slash, without slashes at its end.
[[nodiscard]] std::string absolute_path(const nlohmann::json &value);

// Null when the field is absent or null.
[[nodiscard]] const nlohmann::json *field_of(const nlohmann::json &object, const char *name);
// Empty when it is absent or null.
[[nodiscard]] std::string text_field(const nlohmann::json &object, const char *name);
// A whole number from 0 to MOST; a fraction is cut off.
[[nodiscard]] uint64_t whole(const nlohmann::json &value, uint64_t most = UINT64_MAX);
// None when it is absent, null or not finite.
[[nodiscard]] std::optional<double> number_field(const nlohmann::json &object, const char *name);

} // namespace ses::agent

#endif // SES_AGENT_SERVICE_JSON_H
