/* See decode.h. */
#include "decode.h"

#include <algorithm>
#include <simdjson.h>
#include <utility>

namespace ses::state {

namespace {

namespace ondemand = simdjson::ondemand;

/* The limits of ses_service/model/limits.py and of the schemas. */
constexpr std::size_t max_files = 2000, max_stripes = 2000, max_notes = 20, max_doubts = 16,
                      max_samples = 32;
constexpr std::size_t max_name = 256, max_path = 8192, max_element = 95, min_element = 3,
                      max_note = 500, max_doubt = 32;
constexpr double max_time = 1e11, max_size = 9223372036854775808.0, max_bound = 1e18,
                 max_distance = 1e9, max_sample = 1e24;
constexpr std::uint64_t max_int = (1U << 31U) - 1U;

struct Doubtful {};

void need(bool right) {
  if (!right)
    throw Doubtful();
}

/* Call `each` with the place of each member among the names, and its value. */
template <std::size_t N, class Each>
std::uint32_t members(ondemand::object object, const std::array<std::string_view, N> &names,
                      Each each) {
  std::uint32_t seen = 0;
  for (auto field : object) {
    std::string_view key = field.unescaped_key();
    auto there = std::find(names.begin(), names.end(), key);
    need(there != names.end());
    auto place = static_cast<std::uint32_t>(there - names.begin());
    need((seen & 1U << place) == 0);
    seen |= 1U << place;
    each(place, field.value().value());
  }
  return seen;
}

void has(std::uint32_t seen, std::uint32_t places) { need((seen & places) == places); }

double number(ondemand::value value, double least, double most) {
  double read = value.get_double();
  need(read >= least && read <= most);
  return read;
}

std::uint64_t whole(ondemand::value value, std::uint64_t least, std::uint64_t most) {
  std::uint64_t read = value.get_uint64();
  need(read >= least && read <= most);
  return read;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char one) {
    return (static_cast<unsigned char>(one) & 0xc0U) != 0x80;
  }));
}

std::string text(ondemand::value value, std::size_t least, std::size_t most) {
  std::string_view read = value.get_string();
  if (read.size() < least || read.size() > most)
    need(read.size() >= least && characters(read) <= most && characters(read) >= least);
  else if (least > 1)
    need(characters(read) >= least);
  return std::string(read);
}

/* Without control characters. */
std::string name(ondemand::value value, std::size_t least = 1, std::size_t most = max_name) {
  auto read = text(value, least, most);
  need(std::none_of(read.begin(), read.end(), [](char one) {
    return static_cast<unsigned char>(one) < 0x20 || one == 0x7f;
  }));
  return read;
}

std::string element(ondemand::value value) { return name(value, min_element, max_element); }

/* What may be null. */
template <class Read>
auto maybe(ondemand::value value, Read read) -> std::optional<decltype(read(value))> {
  if (value.is_null())
    return {};
  return read(value);
}
Number maybe_number(ondemand::value value, double most) {
  return maybe(value, [&](ondemand::value one) { return number(one, 0.0, most); });
}
Text maybe_name(ondemand::value value) {
  return maybe(value, [](ondemand::value one) { return name(one); });
}
Text maybe_path(ondemand::value value) {
  return maybe(value, [](ondemand::value one) { return text(one, 1, max_path); });
}

template <class Each> void items(ondemand::value value, std::size_t most, Each each) {
  std::size_t count = 0;
  for (auto item : value.get_array()) {
    need(++count <= most);
    each(item.value());
  }
}

Id id(ondemand::value value) {
  auto read = id_of(value.get_string());
  need(read.has_value());
  return *read;
}

Origin origin(ondemand::value value) {
  static constexpr std::array<std::string_view, 7> names{
      "element", "elements", "placed_at", "distance", "decided_by", "expected_bytes", "notes"};
  Origin read;
  Text alone;
  auto seen = members(value.get_object(), names, [&](std::uint32_t place, ondemand::value one) {
    switch (place) {
    case 0:
      alone = maybe(one, element);
      break;
    case 1:
      items(one, max_stripes,
            [&](ondemand::value stripe) { read.elements.push_back(element(stripe)); });
      break;
    case 2:
      read.placed_at = number(one, 0.0, max_time);
      break;
    case 3:
      read.distance = number(one, 0.0, max_distance);
      break;
    case 4: {
      std::string_view by = one.get_string();
      need(by == "service" || by == "agent" || by == "program");
      read.decided_by = by;
      break;
    }
    case 5:
      read.expected_bytes = maybe_number(one, max_size);
      break;
    default:
      items(one, max_notes,
            [&](ondemand::value note) { read.notes.push_back(text(note, 0, max_note)); });
    }
  });
  has(seen, 1U << 2U);
  need(alone.has_value() == read.elements.empty());
  if (alone)
    read.elements.push_back(*alone);
  return read;
}

Offered offered(ondemand::value value) {
  static constexpr std::array<std::string_view, 5> names{"read", "write", "average_read",
                                                         "average_write", "free"};
  static constexpr std::array<Number Offered::*, 5> places{&Offered::read, &Offered::write,
                                                           &Offered::average_read,
                                                           &Offered::average_write, &Offered::free};
  Offered read;
  members(value.get_object(), names, [&](std::uint32_t place, ondemand::value one) {
    read.*places.at(place) = maybe_number(one, max_bound);
  });
  return read;
}

InBatch in_batch(ondemand::value value) {
  static constexpr std::array<std::string_view, 4> names{"id", "batch_number", "batch_size",
                                                         "predicted"};
  InBatch read;
  auto seen = members(value.get_object(), names, [&](std::uint32_t place, ondemand::value one) {
    if (place == 0)
      read.decision = static_cast<std::int64_t>(whole(one, 0, max_int));
    else if (place == 1)
      read.batch_number = static_cast<int>(whole(one, 1, max_int));
    else if (place == 2)
      read.batch_size = static_cast<int>(whole(one, 1, max_int));
    else
      read.predicted = offered(one);
  });
  has(seen, 1U);
  return read;
}

Report opened(ondemand::value value) {
  static constexpr std::array<std::string_view, 14> names{
      "placement_id", "user", "device", "inode", "path",   "pid",     "opened_at",
      "application",  "job",  "idle",   "bytes", "closed", "restore", "decision"};
  Report read;
  read.idle = false;
  auto seen = members(value.get_object(), names, [&](std::uint32_t place, ondemand::value one) {
    switch (place) {
    case 0:
      read.id = id(one);
      break;
    case 1:
      read.user = name(one);
      break;
    case 2:
      read.device = one.get_uint64();
      break;
    case 3: {
      std::string_view inode = one.get_string();
      need(!inode.empty() && inode.size() <= 20 &&
           std::all_of(inode.begin(), inode.end(),
                       [](char digit) { return digit >= '0' && digit <= '9'; }));
      read.inode = inode;
      break;
    }
    case 4:
      read.path = maybe_path(one);
      break;
    case 5:
      read.pid = maybe(one, [](ondemand::value pid) {
        return static_cast<std::int64_t>(whole(pid, 0, max_int));
      });
      break;
    case 6:
      read.opened_at = maybe_number(one, max_time);
      break;
    case 7:
      read.application = maybe_name(one);
      break;
    case 8:
      read.job = maybe_name(one);
      break;
    case 9:
      read.idle = one.get_bool();
      break;
    case 10:
      read.bytes = maybe_number(one, max_size);
      break;
    case 11:
      read.closed = one.get_bool();
      break;
    case 12:
      read.origin = maybe(one, origin);
      break;
    default:
      read.in_batch = maybe(one, in_batch);
    }
  });
  has(seen, 15U);
  return read;
}

AchievedPtr achieved(ondemand::value value) {
  static constexpr std::array<std::string_view, 8> names{
      "open_seconds",    "bytes_written",   "bytes_read", "writing_seconds",
      "reading_seconds", "bytes_on_device", "doubts",     "samples"};
  auto read = std::make_shared<Achieved>();
  auto seen = members(value.get_object(), names, [&](std::uint32_t place, ondemand::value one) {
    switch (place) {
    case 0:
      read->open_seconds = number(one, 0.0, max_time);
      break;
    case 1:
      read->bytes_written = number(one, 0.0, max_size);
      break;
    case 2:
      read->bytes_read = number(one, 0.0, max_size);
      break;
    case 3:
      read->writing_seconds = number(one, 0.0, max_time);
      break;
    case 4:
      read->reading_seconds = number(one, 0.0, max_time);
      break;
    case 5:
      read->bytes_on_device = maybe_number(one, max_size);
      break;
    case 6:
      items(one, max_doubts, [&](ondemand::value item) {
        auto known = named<Doubt>(text(item, 0, max_doubt)); /* others are passed over */
        if (known &&
            std::find(read->doubts.begin(), read->doubts.end(), *known) == read->doubts.end())
          read->doubts.push_back(*known);
      });
      break;
    default:
      items(one, max_samples, [&](ondemand::value item) {
        std::size_t count = 0;
        auto &sample = read->samples.emplace_back();
        items(item, sample.size(),
              [&](ondemand::value part) { sample[count++] = number(part, 0.0, max_sample); });
        need(count == sample.size());
      });
    }
  });
  has(seen, 1U);
  return read;
}

Ended ended(ondemand::value value) {
  static constexpr std::array<std::string_view, 5> names{"placement_id", "reason", "bytes_written",
                                                         "path", "achieved"};
  Ended read;
  auto seen = members(value.get_object(), names, [&](std::uint32_t place, ondemand::value one) {
    if (place == 0) {
      read.id = id(one);
    } else if (place == 1) {
      auto reason = named<EndReason>(one.get_string().value());
      need(reason && *reason != EndReason::silent);
      read.reason = *reason;
    } else if (place == 2) {
      read.bytes_written = maybe_number(one, max_size);
    } else if (place == 3) {
      read.path = maybe_path(one);
    } else if (!one.is_null()) {
      read.achieved = achieved(one);
    }
  });
  has(seen, 3U);
  return read;
}

Decoded decoded(ondemand::object message) {
  Decoded read;
  read.rest = "{";
  bool has_opened = false, has_ended = false;
  for (auto field : message) {
    std::string_view key = field.unescaped_key();
    auto value = field.value().value();
    if (key == "opened") {
      need(!std::exchange(has_opened, true));
      items(value, max_files,
            [&](ondemand::value one) { read.files.opened.push_back(opened(one)); });
    } else if (key == "ended") {
      need(!std::exchange(has_ended, true));
      items(value, max_files, [&](ondemand::value one) { read.files.ended.push_back(ended(one)); });
    } else {
      need(std::all_of(key.begin(), key.end(),
                       [](char one) { return one > 0x1f && one != '"' && one != '\\'; }));
      if (read.rest.size() > 1)
        read.rest += ',';
      read.rest.append("\"").append(key).append("\":").append(
          simdjson::to_json_string(value).value());
    }
  }
  need(read.files.opened.size() + read.files.ended.size() <= max_files);
  read.rest += '}';
  return read;
}

} // namespace

std::optional<Decoded> decode(std::string_view body) {
  static thread_local ondemand::parser parser;
  try {
    simdjson::padded_string padded(body);
    ondemand::document document = parser.iterate(padded);
    auto read = decoded(document.get_object());
    need(document.current_location().error() ==
         simdjson::OUT_OF_BOUNDS); /* nothing comes after it */
    return read;
  } catch (const simdjson::simdjson_error &) {
    return {};
  } catch (const Doubtful &) {
    return {};
  }
}

} // namespace ses::state
