#include "announcement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "service_json.h"

namespace ses::agent {
namespace {

using nlohmann::json;

constexpr double kShortestPace = 0.5, kLongestPace = 300; // seconds
constexpr size_t kMostInReply = 100000;
constexpr size_t kMostDecisions = 500; // the contract's

json text_or_null(const std::string &text) { return text.empty() ? json(nullptr) : json(text); }

template <typename T> json or_null(const std::optional<T> &value) {
  return value ? json(*value) : json(nullptr);
}

json restore_of(const Origin &origin) {
  json restore = {{"booked_at", origin.booked_at},
                  {"expected_bytes", or_null(origin.expected_bytes)},
                  {"distance", origin.distance},
                  {"decided_by", origin.decided_by},
                  {"notes", origin.notes}};
  if (origin.elements.size() == 1) {
    restore["element"] = origin.elements.front();
  } else {
    restore["elements"] = origin.elements;
  }
  return restore;
}

json opened_of(const Announcement::Opened &opened, json decision) {
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
          {"restore", restore ? restore_of(*file.origin) : json(nullptr)},
          {"decision", std::move(decision)}};
}

// The decisions of FILES, each once, and for each file which it is and its turn in that.
struct Decisions {
  json all = json::array();
  std::vector<json> of_file;
};

Decisions decisions_of(const std::vector<Announcement::Opened> &files) {
  struct Group {
    const Announcement::Opened *first = nullptr;
    unsigned turns = 0;
  };
  Decisions decisions;
  std::vector<Group> groups;
  std::vector<std::pair<size_t, unsigned>> place; // of each file: group and turn
  std::map<std::tuple<const Epoch *, std::string, std::string>, std::vector<size_t>> alike;
  for (const auto &opened : files) {
    const Choice *choice = opened.file->choice.get();
    if (choice == nullptr || !opened.restore) {
      place.emplace_back(0, 0);
      continue;
    }
    auto &candidates = alike[{choice->epoch.get(), opened.user, choice->application}];
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](size_t group) {
      return share_decision(*groups[group].first->file->choice, *choice);
    });
    const size_t group = found == candidates.end() ? groups.size() : *found;
    if (found == candidates.end() && groups.size() >= kMostDecisions) {
      place.emplace_back(0, 0);
      continue;
    }
    if (found == candidates.end()) {
      candidates.push_back(group);
      groups.push_back({&opened, 0});
    }
    place.emplace_back(group, ++groups[group].turns);
  }
  for (size_t group = 0; group < groups.size(); ++group) {
    decisions.all.push_back(decision_json(*groups[group].first->file->choice));
    decisions.all.back()["id"] = group;
  }
  for (size_t i = 0; i < files.size(); ++i) {
    const auto &[group, turn] = place[i];
    decisions.of_file.push_back(turn == 0
                                    ? json(nullptr)
                                    : json{{"id", group},
                                           {"turn", turn},
                                           {"turns", groups[group].turns},
                                           {"predicted", predicted_json(*files[i].file->choice)}});
  }
  return decisions;
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
  json opened = json::array(), ended = json::array(), tables = json::array();
  Decisions decisions = decisions_of(announcement.opened);
  for (size_t i = 0; i < announcement.opened.size(); ++i) {
    opened.push_back(opened_of(announcement.opened[i], std::move(decisions.of_file[i])));
  }
  for (const auto &file : announcement.ended) {
    ended.push_back(ended_of(file));
  }
  for (const TableWanted &table : announcement.tables) {
    tables.push_back(
        {{"system", table.system}, {"revision", table.revision}, {"version", table.version}});
  }
  return text_of({{"incarnation", announcement.incarnation},
                  {"number", announcement.number},
                  {"opened", std::move(opened)},
                  {"ended", std::move(ended)},
                  {"complete", announcement.complete},
                  {"users", announcement.users},
                  {"generations", announcement.generations},
                  {"tables", std::move(tables)},
                  {"decisions", std::move(decisions.all)},
                  {"busy", announcement.busy}});
}

namespace {

// One that makes no sense is as good as none; the next request asks for all of it again.
void read_tables(const json &tables, AnnouncementReply &reply) {
  for (const json &table : tables) {
    try {
      reply.tables.push_back(parse_table(table));
      reply.kept_tables.push_back(table);
    } catch (const std::exception &error) {
      reply.nonsense = std::string("a table: ") + error.what();
    }
  }
}

void read_needs(const json &needs, AnnouncementReply &reply) {
  try {
    reply.needs = parse_needs(needs);
    reply.kept_needs = needs;
  } catch (const std::exception &error) {
    reply.nonsense = std::string("needs: ") + error.what();
  }
}

} // namespace

std::optional<AnnouncementReply> parse_announcement_reply(const std::string &body) {
  try {
    const json object = json::parse(body);
    AnnouncementReply reply;
    reply.instance = object.at("instance").get<std::string>();
    reply.stored = object.at("stored").get<uint64_t>();
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
    if (const json *tables = field_of(object, "tables")) {
      read_tables(*tables, reply);
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
