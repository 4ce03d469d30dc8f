#include "service/sessions.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "system/munge.h"

namespace ses::agent {
namespace {

constexpr double kUsedShare = 0.75; // of its life; then the next is asked for
constexpr double kMaxLife = 86400;
constexpr size_t kCredential = 4096;

} // namespace

std::string Sessions::token(size_t service) const {
  const std::lock_guard lock(mutex_);
  const Session &session = open_[service];
  return std::chrono::steady_clock::now() < session.renew_at ? session.token : "";
}

std::string Sessions::request(std::string &why) const {
  std::array<char, kCredential> credential{};
  const std::string text = "qstorman-session 1 node " + node_;
  const char *said = "";
  const int status =
      ses_munge_make(socket_.c_str(), text.c_str(), credential.data(), credential.size(), &said);
  if (status != 0) {
    why = std::string("munged of this node makes no credential: ") +
          (status == EACCES ? said : std::strerror(status));
    return "";
  }
  return nlohmann::json({{"credential", credential.data()}}).dump();
}

bool Sessions::take(size_t service, const std::string &body) {
  try {
    const nlohmann::json answer = nlohmann::json::parse(body);
    const auto token = answer.at("token").get<std::string>();
    const auto seconds = answer.at("seconds").get<double>();
    if (token.empty() || token.find_first_of(" \t\r\n") != std::string::npos || !(seconds > 0)) {
      return false;
    }
    const std::chrono::duration<double> used(std::min(seconds, kMaxLife) * kUsedShare);
    const std::lock_guard lock(mutex_);
    open_[service] = {token, std::chrono::steady_clock::now() +
                                 std::chrono::duration_cast<std::chrono::milliseconds>(used)};
    return true;
  } catch (const std::exception &) {
    return false;
  }
}

void Sessions::refused(size_t service, const std::string &token) {
  const std::lock_guard lock(mutex_);
  if (open_[service].token == token) {
    open_[service] = {};
  }
}

} // namespace ses::agent
