#include "announcements/announcement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "service/json.h"
#include "service/json_text.h"

namespace ses::agent {
namespace {

using nlohmann::json;

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
    const auto match = std::find_if(candidates.begin(), candidates.end(), [&](size_t group) {
      return share_decision(*groups[group].first->file->choice, *choice);
    });
    const size_t group = match == candidates.end() ? groups.size() : *match;
    if (match == candidates.end() && groups.size() >= SES_ANNOUNCED_DECISIONS_MAX) {
      decisions.of_file.emplace_back(0, 0);
      continue;
    }
    if (match == candidates.end()) {
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

} // namespace ses::agent
