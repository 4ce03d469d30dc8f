#include "announcements/announcement.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "service/json.h"
#include "service/json_text.h"

namespace ses::agent {
namespace {

using nlohmann::json;

constexpr double kShortestPace = 0.02, kMaxPace = 300; // seconds
constexpr double kMaxReportWithin = 5, kMaxReturnWithin = 600;
constexpr size_t kMaxInReply = 100000;
constexpr size_t kUsualFile = 600; // bytes
constexpr size_t kMaxWhy = 500;    // bytes; the contract takes 1,000 characters

void put_list(JsonText &text, const char *name, const std::vector<std::string> &values) {
  text.open(name, '[');
  for (const std::string &value : values) {
    text.put("", value);
  }
  text.close(']');
}

void put_restore(JsonText &text, const Origin &origin) {
  text.open("restore", '{');
  text.put("placed_at", origin.placed_at);
  origin.expected_bytes ? text.put("expected_bytes", *origin.expected_bytes)
                        : text.put_null("expected_bytes");
  text.put("distance", origin.distance);
  text.put("decided_by", origin.decided_by);
  if (origin.elements.size() == 1) {
    text.put("element", origin.elements.front());
  } else {
    put_list(text, "elements", origin.elements);
  }
  put_list(text, "notes", origin.notes);
  text.close('}');
}

// The decisions of an announcement, each once, and for each file which it is and its number in that
// batch.
struct Decisions {
  struct Group {
    const Announcement::Opened *first = nullptr;
    unsigned files = 0;
  };
  std::vector<Group> groups;
  std::vector<std::pair<size_t, unsigned>> of_file; // group and number in it; 0: none
};

Decisions decisions_of(const std::vector<Announcement::Opened> &files) {
  Decisions decisions;
  auto &groups = decisions.groups;
  std::map<std::tuple<const Epoch *, std::string_view, std::string_view>, std::vector<size_t>>
      alike;
  for (const auto &opened : files) {
    const Choice *choice = opened.file->choice.get();
    if (choice == nullptr || !opened.restore) {
      decisions.of_file.emplace_back(0, 0);
      continue;
    }
    auto &candidates = alike[{choice->epoch.get(), opened.user, choice->application}];
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](size_t group) {
      return share_decision(*groups[group].first->file->choice, *choice);
    });
    const size_t group = found == candidates.end() ? groups.size() : *found;
    if (found == candidates.end() && groups.size() >= SES_ANNOUNCED_DECISIONS_MAX) {
      decisions.of_file.emplace_back(0, 0);
      continue;
    }
    if (found == candidates.end()) {
      candidates.push_back(group);
      groups.push_back({&opened, 0});
    }
    decisions.of_file.emplace_back(group, ++groups[group].files);
  }
  return decisions;
}

void put_decision(JsonText &text, const Choice &choice, size_t group, unsigned number,
                  unsigned files) {
  const ses_core_offer offer = predicted(choice);
  text.open("decision", '{');
  text.put("id", group);
  text.put("batch_number", number);
  text.put("batch_size", files);
  text.open("predicted", '{');
  text.put("read", offer.read);
  text.put("write", offer.write);
  text.put("average_read", offer.average_read);
  text.put("average_write", offer.average_write);
  text.put("free", offer.free);
  text.close('}');
  text.close('}');
}

void put_opened(JsonText &text, const Announcement::Opened &opened) {
  const OpenedFile &file = *opened.file;
  text.put_id("placement_id", file.placement_id);
  text.put("user", opened.user);
  text.put_text_or_null("path", file.path);
  text.put("device", file.device);
  text.put("inode", std::to_string(file.inode));
  file.pid > 0 ? text.put("pid", file.pid) : text.put_null("pid");
  file.opened_at > 0 ? text.put("opened_at", file.opened_at) : text.put_null("opened_at");
  text.put_text_or_null("application", file.application);
  text.put_text_or_null("job", file.job);
  text.put("idle", file.idle);
  if (file.bytes > 0) {
    text.put("bytes", file.bytes);
    text.put("closed", file.closed);
  }
  if (opened.restore && file.origin && !file.origin->elements.empty()) {
    put_restore(text, *file.origin);
  } else {
    text.put_null("restore");
  }
}

void put_excluded(JsonText &text, const Exclusions &excluded,
                  const std::map<uid_t, std::string> &names) {
  text.open("excluded", '[');
  for (const Exclusion &exclusion : excluded) {
    text.open("", '{');
    text.put("element", exclusion.element);
    text.put("why", exclusion.why.substr(0, kMaxWhy));
    exclusion.uid ? text.put("user", names.at(*exclusion.uid)) : text.put_null("user");
    text.close('}');
  }
  text.close(']');
}

double in_milliseconds(double seconds) { return std::round(seconds * 1e3) / 1e3; }

void put_achieved(JsonText &text, const Achieved &achieved) {
  text.open("achieved", '{');
  text.put("bytes_written", achieved.written);
  text.put("bytes_read", achieved.read);
  text.put("writing_seconds", in_milliseconds(achieved.writing_seconds));
  text.put("reading_seconds", in_milliseconds(achieved.reading_seconds));
  text.put("open_seconds", in_milliseconds(achieved.open_seconds));
  achieved.on_device ? text.put("bytes_on_device", *achieved.on_device)
                     : text.put_null("bytes_on_device");
  text.open("doubts", '[');
  const std::pair<bool, const char *> doubts[] = {{achieved.is_cached(), "page-cache"},
                                                  {achieved.is_small(), "too-small"},
                                                  {achieved.is_short(), "too-short"},
                                                  {achieved.shared, "shared"},
                                                  {achieved.gaps, "gaps"},
                                                  {achieved.mapped, "mapped"}};
  for (const auto &[is_so, name] : doubts) {
    if (is_so) {
      text.put("", name);
    }
  }
  text.close(']');
  text.open("samples", '[');
  for (const Sample &sample : achieved.samples) {
    text.open("", '[');
    text.put("", in_milliseconds(sample.at));
    text.put("", sample.written);
    text.put("", sample.read);
    text.close(']');
  }
  text.close(']');
  text.close('}');
}

void put_ended(JsonText &text, const EndedFile &file) {
  text.open("", '{');
  text.put_id("placement_id", file.placement_id);
  text.put("reason", name_of(file.reason));
  file.bytes_written ? text.put("bytes_written", *file.bytes_written)
                     : text.put_null("bytes_written");
  text.put_text_or_null("path", file.path);
  if (file.achieved) {
    put_achieved(text, *file.achieved);
  }
  text.close('}');
}

void put_reading(JsonText &text, const std::vector<Reading> &reading) {
  text.open("reading", '[');
  for (const Reading &row : reading) {
    text.open("", '{');
    text.put("system", row.system);
    text.put("element", row.element);
    text.put("user", row.user);
    text.put("files", row.files);
    text.put("bytes_per_second", std::round(row.bytes_per_second));
    text.close('}');
  }
  text.close(']');
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
    file.device = whole(object.at("device"));
    file.inode = decimal(object.at("inode"));
  }
  file.path = text_field(object, "path");
  const json *pid = field_of(object, "pid");
  file.pid = pid != nullptr ? static_cast<int>(whole(*pid, INT_MAX)) : 0;
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
  const Decisions decisions = decisions_of(announcement.opened);
  JsonText text(kUsualFile * (announcement.opened.size() + announcement.ended.size()));
  text.open("", '{');
  text.put("incarnation", announcement.incarnation);
  text.put("number", announcement.number);
  text.open("opened", '[');
  for (size_t i = 0; i < announcement.opened.size(); ++i) {
    const auto &[group, number] = decisions.of_file[i];
    const Choice *choice = announcement.opened[i].file->choice.get();
    text.open("", '{');
    put_opened(text, announcement.opened[i]);
    if (number == 0) {
      text.put_null("decision");
    } else {
      put_decision(text, *choice, group, number, decisions.groups[group].files);
    }
    text.close('}');
  }
  text.close(']');
  text.open("ended", '[');
  for (const auto &ended : announcement.ended) {
    put_ended(text, *ended.file);
  }
  text.close(']');
  text.put("complete", announcement.complete);
  put_list(text, "users", announcement.users);
  text.put_raw("generations", text_of(json(announcement.generations)));
  text.open("tables", '[');
  for (const TableWanted &table : announcement.tables) {
    text.open("", '{');
    text.put("system", table.system);
    text.put("revision", table.revision);
    text.put("version", table.version);
    if (table.excluded) {
      put_excluded(text, *table.excluded, announcement.names);
    }
    text.close('}');
  }
  text.close(']');
  text.open("decisions", '[');
  for (size_t group = 0; group < decisions.groups.size(); ++group) {
    json decision = decision_json(*decisions.groups[group].first->file->choice);
    decision["id"] = group;
    text.put_raw("", text_of(decision));
  }
  text.close(']');
  text.put("busy", announcement.busy);
  text.put("in_use", announcement.in_use);
  if (announcement.reading) {
    put_reading(text, *announcement.reading);
  }
  text.open("stalled", '[');
  for (const StalledThread &stalled : announcement.stalled) {
    text.open("", '{');
    text.put("thread", stalled.name);
    text.put("seconds", stalled.since.count());
    text.close('}');
  }
  text.close(']');
  text.close('}');
  return text.take();
}

std::string user_of_item(const Announcement &announcement, const RefusedItem &item) {
  if (item.list == "decisions") {
    const auto groups = decisions_of(announcement.opened).groups;
    return item.index < groups.size() ? groups[item.index].first->user : "";
  }
  if (item.list == "reading" && announcement.reading) {
    return item.index < announcement.reading->size() ? (*announcement.reading)[item.index].user
                                                     : "";
  }
  return item.list == "users" && item.index < announcement.users.size()
             ? announcement.users[item.index]
             : "";
}

namespace {

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
  return std::chrono::milliseconds(std::llround(std::clamp(pause, kShortestPace, longest) * 1000));
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
