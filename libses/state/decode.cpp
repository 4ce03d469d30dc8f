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

/* A member of an object, by its name, and what takes its value. */
template <class Take> struct Member {
  std::string_view name;
  Take take;
  bool is_needed;
};
template <class Take> Member<Take> member(std::string_view name, Take take) {
  return {name, take, false};
}
template <class Take> Member<Take> needed(std::string_view name, Take take) {
  return {name, take, true};
}

/* Read an object that has each of these members once at most, those that are needed, and no others.
 */
template <class... Members> void read(ondemand::value value, const Members &...members) {
  std::uint32_t seen = 0;
  for (auto field : value.get_object()) {
    std::string_view key = field.unescaped_key();
    ondemand::value item = field.value();
    std::uint32_t bit = 1;
    auto takes = [&](const auto &member) {
      if (key != member.name) {
        bit <<= 1U;
        return false;
      }
      need((seen & bit) == 0);
      seen |= bit;
      member.take(item);
      return true;
    };
    need((takes(members) || ...));
  }
  std::uint32_t bit = 1, wanted = 0;
  ((wanted |= members.is_needed ? bit : 0U, bit <<= 1U), ...);
  need((seen & wanted) == wanted);
}

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
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80;
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
  need(std::none_of(read.begin(), read.end(), [](char byte) {
    return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
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

/* What puts a value into a place, as READ makes it; of what may be absent it may be null. */
template <class To, class Read> auto into(To &to, Read read) {
  return [&to, read](ondemand::value value) { to = read(value); };
}
template <class To, class Read> auto into(std::optional<To> &to, Read read) {
  return [&to, read](ondemand::value value) { to = maybe(value, read); };
}
template <class To, class Read> auto into(std::vector<To> &to, std::size_t most, Read read) {
  return [&to, most, read](ondemand::value value) {
    items(value, most, [&](ondemand::value member) { to.push_back(read(member)); });
  };
}

/* Readers of numbers up to a limit, and of texts up to a length. */
auto up_to(double most) {
  return [most](ondemand::value value) { return number(value, 0.0, most); };
}
auto text_up_to(std::size_t most, std::size_t least = 0) {
  return [most, least](ondemand::value value) { return text(value, least, most); };
}

bool boolean(ondemand::value value) { return value.get_bool(); }
std::int64_t process(ondemand::value value) {
  return static_cast<std::int64_t>(whole(value, 0, max_int));
}
int counted(ondemand::value value) { return static_cast<int>(whole(value, 1, max_int)); }
std::string any_name(ondemand::value value) { return name(value); }

std::string decider(ondemand::value value) {
  std::string_view by = value.get_string();
  need(by == "service" || by == "agent" || by == "program");
  return std::string(by);
}

Origin origin(ondemand::value value) {
  Origin made;
  Text alone;
  read(value, member("element", into(alone, element)),
       member("elements", into(made.elements, max_stripes, element)),
       needed("placed_at", into(made.placed_at, up_to(max_time))),
       member("distance", into(made.distance, up_to(max_distance))),
       member("decided_by", into(made.decided_by, decider)),
       member("expected_bytes", into(made.expected_bytes, up_to(max_size))),
       member("notes", into(made.notes, max_notes, text_up_to(max_note))));
  need(alone.has_value() == made.elements.empty());
  if (alone)
    made.elements.push_back(*alone);
  return made;
}

Offered offered(ondemand::value value) {
  Offered made;
  auto rate = up_to(max_bound);
  read(value, member("read", into(made.read, rate)), member("write", into(made.write, rate)),
       member("average_read", into(made.average_read, rate)),
       member("average_write", into(made.average_write, rate)),
       member("free", into(made.free, rate)));
  return made;
}

InBatch in_batch(ondemand::value value) {
  InBatch made;
  read(value, needed("id", into(made.decision, process)),
       member("batch_number", into(made.batch_number, counted)),
       member("batch_size", into(made.batch_size, counted)),
       member("predicted", into(made.predicted, offered)));
  return made;
}

std::string inode(ondemand::value value) {
  std::string_view digits = value.get_string();
  need(!digits.empty() && digits.size() <= 20 &&
       std::all_of(digits.begin(), digits.end(),
                   [](char digit) { return digit >= '0' && digit <= '9'; }));
  return std::string(digits);
}

Report opened(ondemand::value value) {
  Report made;
  std::string user, number;
  std::uint64_t device = 0;
  bool idle = false;
  auto path = text_up_to(max_path, 1);
  read(value, needed("placement_id", into(made.id, id)), needed("user", into(user, any_name)),
       needed("device", [&](ondemand::value field) { device = field.get_uint64(); }),
       needed("inode", into(number, inode)), member("path", into(made.path, path)),
       member("pid", into(made.pid, process)),
       member("opened_at", into(made.opened_at, up_to(max_time))),
       member("application", into(made.application, any_name)),
       member("job", into(made.job, any_name)), member("idle", into(idle, boolean)),
       member("bytes", into(made.bytes, up_to(max_size))),
       member("closed", into(made.closed, boolean)), member("restore", into(made.origin, origin)),
       member("decision", into(made.in_batch, in_batch)));
  made.user = std::move(user);
  made.device = device;
  made.inode = std::move(number);
  made.idle = idle;
  return made;
}

/* Doubts that nobody here knows are passed over. */
std::vector<Doubt> doubts(ondemand::value value) {
  std::vector<Doubt> made;
  items(value, max_doubts, [&](ondemand::value doubt) {
    auto known = named<Doubt>(text(doubt, 0, max_doubt));
    if (known && std::find(made.begin(), made.end(), *known) == made.end())
      made.push_back(*known);
  });
  return made;
}

Sample sample(ondemand::value value) {
  std::vector<double> parts;
  into(parts, 3, up_to(max_sample))(value);
  need(parts.size() == 3);
  return {parts[0], parts[1], parts[2]};
}

AchievedPtr achieved(ondemand::value value) {
  if (value.is_null())
    return nullptr;
  auto made = std::make_shared<Achieved>();
  auto bytes = up_to(max_size), seconds = up_to(max_time);
  read(value, needed("open_seconds", into(made->open_seconds, seconds)),
       member("bytes_written", into(made->bytes_written, bytes)),
       member("bytes_read", into(made->bytes_read, bytes)),
       member("writing_seconds", into(made->writing_seconds, seconds)),
       member("reading_seconds", into(made->reading_seconds, seconds)),
       member("bytes_on_device", into(made->bytes_on_device, bytes)),
       member("doubts", into(made->doubts, doubts)),
       member("samples", into(made->samples, max_samples, sample)));
  return made;
}

EndReason reason(ondemand::value value) {
  auto known = named<EndReason>(value.get_string().value());
  need(known && *known != EndReason::silent);
  return *known;
}

Ended ended(ondemand::value value) {
  Ended made;
  read(value, needed("placement_id", into(made.id, id)),
       needed("reason", into(made.reason, reason)),
       member("bytes_written", into(made.bytes_written, up_to(max_size))),
       member("path", into(made.path, text_up_to(max_path, 1))),
       member("achieved", into(made.achieved, achieved)));
  return made;
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
            [&](ondemand::value file) { read.files.opened.push_back(opened(file)); });
    } else if (key == "ended") {
      need(!std::exchange(has_ended, true));
      items(value, max_files,
            [&](ondemand::value file) { read.files.ended.push_back(ended(file)); });
    } else {
      need(std::all_of(key.begin(), key.end(),
                       [](char byte) { return byte > 0x1f && byte != '"' && byte != '\\'; }));
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
