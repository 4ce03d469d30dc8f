#include "announcements/quiet_answer.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace ses::agent {
namespace {

// No text in JSON holds these: a quotation mark in it follows a backslash.
constexpr std::string_view kSentAt = "\"sent_at\":", kStored = "\"stored\":";

bool is_quiet(const AnnouncementReply &reply) {
  return reply.unknown.empty() && reply.refused.empty() && reply.refused_items.empty() &&
         !reply.open && reply.needs.empty() && reply.nonsense.empty() &&
         std::ranges::all_of(reply.tables, [](const TableAnswer &table) {
           return !table.elements && table.loads.empty();
         });
}

} // namespace

QuietAnswer::Text QuietAnswer::text_of(const std::string &body) {
  Text text;
  text.rest.reserve(body.size());
  text.is_whole = true;
  unsigned stored = 0;
  size_t at = 0;
  for (;;) {
    const size_t sent = body.find(kSentAt, at), number = body.find(kStored, at);
    const size_t key = std::min(sent, number);
    if (key == std::string::npos) {
      break;
    }
    size_t begin = key + (key == sent ? kSentAt : kStored).size();
    begin = std::min(body.find_first_not_of(' ', begin), body.size());
    text.rest.append(body, at, begin - at);
    const char *const from = body.data() + begin, *const end = body.data() + body.size();
    std::from_chars_result read{};
    if (key == sent) {
      read = std::from_chars(from, end, text.sent_at.emplace_back());
    } else {
      read = std::from_chars(from, end, text.stored);
      ++stored;
    }
    text.is_whole = text.is_whole && read.ec == std::errc();
    at = static_cast<size_t>(read.ptr - body.data());
  }
  text.rest.append(body, at);
  text.is_whole = text.is_whole && stored == 1;
  return text;
}

std::optional<AnnouncementReply> QuietAnswer::read(const std::string &body) const {
  if (!reply_) {
    return std::nullopt;
  }
  const Text text = text_of(body);
  if (!text.is_whole || text.rest != last_.rest) {
    return std::nullopt;
  }
  AnnouncementReply reply = *reply_;
  reply.stored = text.stored;
  for (size_t table = 0; table < reply.tables.size(); ++table) {
    reply.tables[table].sent_at = text.sent_at[table];
  }
  return reply;
}

void QuietAnswer::remember(const std::string &body, const AnnouncementReply &reply) {
  reply_.reset();
  if (!is_quiet(reply)) {
    return;
  }
  last_ = text_of(body);
  if (last_.is_whole && last_.sent_at.size() == reply.tables.size()) {
    reply_ = reply;
    reply_->kept_tables = reply_->kept_needs = nullptr;
  }
}

} // namespace ses::agent
