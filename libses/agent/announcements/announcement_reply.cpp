#include "announcements/announcement_reply.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "service/json.h"

namespace ses::agent {
namespace {

using nlohmann::json;

constexpr double kMinPace = 0.02, kMaxPace = 300; // seconds
constexpr double kMaxReportWithin = 5, kMaxReturnWithin = 600;
constexpr size_t kMaxInReply = 100000;

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
    file.device = whole(object.at("device"));
    file.inode = decimal(object.at("inode"));
  }
  file.path = text_field(object, "path");
  const json *pid = field_of(object, "pid");
  file.pid = pid != nullptr ? static_cast<int>(whole(*pid, INT_MAX)) : 0;
  if (const json *place = field_of(object, "place")) {
    file.place = {whole(place->at("started")), whole(place->at("namespace")),
                  place->at("own_directory").get<bool>(), place->at("seconds").get<double>()};
  }
  return file;
}

// Calls READ with each of LIST; NONSENSE is what is wrong with one of them.
template <typename Read>
void read_each(const json &list, const char *what, std::string &nonsense, Read read) {
  for (const json &item : list) {
    try {
      read(item);
    } catch (const std::exception &error) {
      nonsense = std::string(what) + ": " + error.what();
    }
  }
}

// One that makes no sense is as good as none; the next request asks for all of it again.
void read_tables(json &tables, AnnouncementReply &reply) {
  for (json &table : tables) {
    try {
      reply.tables.push_back(parse_table(table));
      reply.kept_tables.push_back(std::move(table));
    } catch (const std::exception &error) {
      reply.nonsense = std::string("a table: ") + error.what();
    }
  }
}

// Those of a user of whom one makes no sense are asked for again.
void read_needs(const json &needs, AnnouncementReply &reply) {
  std::map<std::string, json> of_users;
  read_each(needs, "needs", reply.nonsense,
            [&](const json &need) { of_users[text_field(need, "user")].push_back(need); });
  for (const auto &[user, entries] : of_users) {
    read_each(json::array({entries}), "needs", reply.nonsense, [&](const json &of_user) {
      reply.needs.merge(parse_needs(of_user));
      for (const json &need : of_user) {
        reply.kept_needs.push_back(need);
      }
    });
  }
}

std::chrono::milliseconds pause_of(const json &seconds, double longest) {
  const auto pause = seconds.get<double>();
  if (!std::isfinite(pause)) {
    throw std::invalid_argument("no number of seconds");
  }
  return std::chrono::milliseconds(std::llround(std::clamp(pause, kMinPace, longest) * 1000));
}

} // namespace

std::optional<AnnouncementReply> parse_announcement_reply(const std::string &body) {
  try {
    json object = json::parse(body);
    AnnouncementReply reply;
    reply.instance = object.at("instance").get<std::string>();
    reply.stored = whole(object.at("stored"));
    reply.next_within = pause_of(object.at("next_within_seconds"), kMaxPace);
    if (const json *within = field_of(object, "report_within_seconds")) {
      reply.report_within = pause_of(*within, kMaxReportWithin);
    }
    reply.return_within = reply.next_within; // of an earlier service
    if (const json *returning = field_of(object, "return_within_seconds")) {
      reply.return_within = pause_of(*returning, kMaxReturnWithin);
    }
    read_each(object.at("unknown"), "an id", reply.nonsense,
              [&](const json &id) { reply.unknown.push_back(parse_id(id.get<std::string>())); });
    read_each(object.at("refused"), "a refused file", reply.nonsense, [&](const json &refused) {
      reply.refused.emplace_back(parse_id(refused.at("placement_id").get<std::string>()),
                                 text_field(refused, "detail"));
    });
    if (const json *items = field_of(object, "refused_items")) {
      read_each(*items, "a refused item", reply.nonsense, [&](const json &item) {
        reply.refused_items.push_back({item.at("list").get<std::string>(), whole(item.at("index")),
                                       text_field(item, "detail")});
      });
    }
    if (const json *open = field_of(object, "open")) {
      if (open->size() > kMaxInReply) {
        return std::nullopt;
      }
      reply.open.emplace();
      read_each(*open, "an open file", reply.nonsense,
                [&](const json &file) { reply.open->push_back(ledger_file(file)); });
    }
    if (field_of(object, "tables") != nullptr) {
      read_tables(object.at("tables"), reply);
    }
    if (const json *needs = field_of(object, "needs")) {
      read_needs(*needs, reply);
    }
    return reply;
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

} // namespace ses::agent
