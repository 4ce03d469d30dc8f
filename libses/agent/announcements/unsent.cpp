#include "announcements/unsent.h"

#include <unistd.h>

#include <sstream>

#include "node/own_file.h"
#include "service/json.h"

namespace ses::agent {
namespace {

using nlohmann::json;

constexpr size_t kMaxBytes = 64u << 20;
constexpr const char *kUnsentFile = "/unsent";
constexpr const char *kFiles[] = {"opened", "ended", "decisions"};

} // namespace

Unsent::Unsent(const std::string &directory) : directory_(directory) {
  std::istringstream lines(read_own(directory + kUnsentFile, kMaxBytes));
  for (std::string line; std::getline(lines, line);) {
    if (json::parse(line, nullptr, false).is_object()) {
      bodies_.push_back(std::move(line));
    }
  }
}

std::string Unsent::first(const Announcement &head) const {
  json body = json::parse(announcement_body(head));
  const json kept = json::parse(bodies_.front());
  for (const char *name : kFiles) {
    body[name] = kept.value(name, json::array());
  }
  return text_of(body);
}

void Unsent::drop_first() {
  bodies_.pop_front();
  if (bodies_.empty()) {
    unlink((directory_ + kUnsentFile).c_str());
  }
}

void Unsent::add(const Announcement &announcement) {
  bodies_.push_back(announcement_body(announcement));
}

std::string Unsent::keep() const {
  if (bodies_.empty()) {
    return "";
  }
  size_t size = 0;
  auto end = bodies_.begin(); // the first, if not all: the last hold only the user with most files
  while (end != bodies_.end() && size + end->size() < kMaxBytes) {
    size += (end++)->size() + 1;
  }
  std::string text;
  text.reserve(size);
  for (auto body = bodies_.begin(); body != end; ++body) {
    text += *body + "\n";
  }
  return write_own(directory_, kUnsentFile, text);
}

} // namespace ses::agent
