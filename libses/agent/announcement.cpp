#include "announcement.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "service_json.h"

namespace ses::agent {
namespace {

using nlohmann::json;

constexpr double kShortestPace = 0.5, kLongestPace = 300; // seconds
constexpr size_t kMostInReply = 100000;

json text_or_null(const std::string &text) { return text.empty() ? json(nullptr) : json(text); }

template <typename T> json or_null(const std::optional<T> &value) {
  return value ? json(*value) : json(nullptr);
}

json restore_of(const Origin &origin) {
  json restore = {{"booked_at", origin.booked_at},
                  {"expected_bytes", or_null(origin.expected_bytes)},
                  {"distance", origin.distance},
                  {"decided_by", origin.by_agent ? "agent" : "service"},
                  {"notes", origin.notes}};
  if (origin.elements.size() == 1) {
    restore["element"] = origin.elements.front();
  } else {
    restore["elements"] = origin.elements;
  }
  return restore;
}

json opened_of(const Announcement::Opened &opened) {
  const OpenedFile &file = *opened.file;
  const bool restore = opened.restore && file.origin && !file.origin->elements.empty();
  return {{"placement_id", format_id(file.placement_id)},
          {"user", opened.user},
          {"path", text_or_null(file.path)},
          {"device", file.device},
          {"inode", std::to_string(file.inode)},
          {"pid", file.pid > 0 ? json(file.pid) : json(nullptr)},
          {"opened_at", file.opened_at > 0 ? json(file.opened_at) : json(nullptr)},
          {"application", text_or_null(file.application)},
          {"job", text_or_null(file.job)},
          {"restore", restore ? restore_of(*file.origin) : json(nullptr)}};
}

json ended_of(const EndedFile &file) {
  return {{"placement_id", format_id(file.placement_id)},
          {"reason", name_of(file.reason)},
          {"bytes_written", or_null(file.bytes_written)},
          {"path", text_or_null(file.path)}};
}

uint64_t decimal(const json &value) {
  const auto text = value.get<std::string>();
  if (text.empty() || text.size() > 20 || text.find_first_not_of("0123456789") != text.npos) {
    throw std::invalid_argument("inode");
  }
  return std::stoull(text);
}

LedgerFile ledger_file(const json &object) {
  LedgerFile file;
  file.placement_id = parse_id(object.at("placement_id").get<std::string>());
  file.user = object.at("user").get<std::string>();
  // One that was opened without device and inode can be no file of this node.
  if (field_of(object, "device") != nullptr && field_of(object, "inode") != nullptr) {
    file.device = object.at("device").get<uint64_t>();
    file.inode = decimal(object.at("inode"));
  }
  file.path = text_field(object, "path");
  file.pid = field_of(object, "pid") != nullptr ? object.at("pid").get<int>() : 0;
  return file;
}

} // namespace

const char *name_of(EndReason reason) {
  switch (reason) {
  case EndReason::kClosed:
    return "closed";
  case EndReason::kExited:
    return "exited";
  case EndReason::kUnused:
    return "unused";
  case EndReason::kFailed:
    return "failed";
  case EndReason::kLost:
    break;
  }
  return "lost";
}

std::string announcement_path(const std::string &node) {
  return "/v1/nodes/" + escape_path(node) + "/announcements";
}

std::string announcement_body(const Announcement &announcement) {
  json opened = json::array(), ended = json::array();
  for (const auto &file : announcement.opened) {
    opened.push_back(opened_of(file));
  }
  for (const auto &file : announcement.ended) {
    ended.push_back(ended_of(file));
  }
  return text_of({{"incarnation", announcement.incarnation},
                  {"opened", std::move(opened)},
                  {"ended", std::move(ended)},
                  {"complete", announcement.complete},
                  {"users", announcement.users},
                  {"snapshot", announcement.snapshot}});
}

std::optional<AnnouncementReply> parse_announcement_reply(const std::string &body) {
  try {
    const json object = json::parse(body);
    AnnouncementReply reply;
    reply.instance = object.at("instance").get<std::string>();
    const auto pace = object.at("next_within_seconds").get<double>();
    if (!std::isfinite(pace)) {
      return std::nullopt;
    }
    reply.next_within = std::chrono::milliseconds(
        std::llround(std::clamp(pace, kShortestPace, kLongestPace) * 1000));
    for (const json &id : object.at("unknown")) {
      reply.unknown.push_back(parse_id(id.get<std::string>()));
    }
    for (const json &refused : object.at("refused")) {
      reply.refused.emplace_back(parse_id(refused.at("placement_id").get<std::string>()),
                                 text_field(refused, "detail"));
    }
    if (const json *open = field_of(object, "open")) {
      if (open->size() > kMostInReply) {
        return std::nullopt;
      }
      reply.open.emplace();
      for (const json &file : *open) {
        reply.open->push_back(ledger_file(file));
      }
    }
    if (const json *applications = field_of(object, "applications")) {
      reply.applications = applications->get<decltype(reply.applications)>();
    }
    if (const json *generations = field_of(object, "generations")) {
      reply.generations = generations->get<decltype(reply.generations)>();
    }
    if (const json *snapshot = field_of(object, "snapshot")) {
      reply.snapshot = text_of(*snapshot);
    }
    return reply;
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

} // namespace ses::agent
