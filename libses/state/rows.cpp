/* See rows.h. */
#include "rows.h"

#include "json.h"

#include <array>
#include <cstdio>
#include <stdexcept>
#include <utility>
#define ZLIB_CONST
#include <zlib.h>

namespace ses::state {

std::string elements_text(const Placement &placement) {
  std::string out = "[";
  for (const auto &element : placement.elements) {
    if (out.size() > 1)
      out += ", ";
    out += element->row;
  }
  return out += ']';
}

std::string predicted_text(const Placement &placement) {
  std::string out;
  json::put(out, placement.predicted);
  return out;
}

std::string notes_text(const Placement &placement) {
  std::string out = "[";
  auto add = [&](const std::vector<std::string> &notes) {
    for (const auto &note : notes) {
      if (out.size() > 1)
        out += ", ";
      json::text(out, note);
    }
  };
  add(placement.notes);
  if (placement.why && placement.why_notes)
    add(placement.why->notes);
  return out += ']';
}

namespace {

/* Whether a file opened, is idle, was ended by its node, or otherwise; and JSON that says so. */
enum Notified { opened, idle, ended, lapsed, kinds };

std::pair<Notified, std::string> notification_of(const Placement &placement, double now) {
  constexpr std::size_t max_elements = 2000; /* bytes of JSON */
  std::string id = '"' + text_of(placement.id) + '"';
  if (placement.ended)
    return {may_return(placement.end_reason) ? lapsed : ended, id};
  if (placement.idle)
    return {idle, id};
  std::string elements;
  for (const auto &element : placement.elements) {
    elements += ',';
    json::text(elements, element->id);
  }
  char numbers[400];
  int written = std::snprintf(numbers, sizeof numbers, ",%.3f,", now - placement.began());
  if (placement.expected_bytes)
    std::snprintf(numbers + written, sizeof numbers - static_cast<std::size_t>(written), "%.0f",
                  *placement.expected_bytes);
  std::string text = '[' + id + numbers + (placement.expected_bytes ? "" : "null");
  if (elements.size() <= max_elements)
    text += elements;
  return {opened, text += ']'};
}

/* What is reported of one node, in texts of a bounded size. */
class OfNode {
public:
  void add(const Placement &placement, double now, std::size_t most) {
    auto [kind, item] = notification_of(placement, now);
    if (_size + item.size() > most)
      close();
    auto &list = _lists.at(kind);
    if (!list.empty())
      list += ',';
    list += item;
    _size += item.size() + 1;
  }
  std::vector<std::string> done() {
    close();
    return std::move(_texts);
  }

private:
  std::array<std::string, kinds> _lists;
  std::size_t _size = 0;
  std::vector<std::string> _texts;

  void close() {
    auto &text = _texts.emplace_back();
    for (auto &list : _lists)
      text.append(text.empty() ? "[" : ",[").append(std::exchange(list, {})).append("]");
    _size = 0;
  }
};

} // namespace

std::map<std::string, std::vector<std::string>>
notified(const std::vector<PlacementPtr> &placements, double now, std::size_t most) {
  std::map<std::string, OfNode> nodes;
  for (const auto &placement : placements)
    nodes[placement->subject->node.value_or("")].add(*placement, now, most);
  std::map<std::string, std::vector<std::string>> texts;
  for (auto &[node, reported] : nodes)
    texts[node] = reported.done();
  return texts;
}

namespace {

/* A stream that is used again and again: to set one up takes ten times as long as a body does. With
 * the usual window of 32 KiB it would take a quarter of a megabyte of memory. */
class Compressor {
public:
  Compressor() {
    if (deflateInit2(&_stream, Z_BEST_SPEED, Z_DEFLATED, 12, 4, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Compressor() { deflateEnd(&_stream); }
  Compressor(const Compressor &) = delete;
  Compressor &operator=(const Compressor &) = delete;

  std::string operator()(std::string_view body) {
    deflateReset(&_stream);
    std::string out(deflateBound(&_stream, body.size()), '\0');
    _stream.next_in = reinterpret_cast<const Bytef *>(body.data());
    _stream.avail_in = static_cast<uInt>(body.size());
    _stream.next_out = reinterpret_cast<Bytef *>(out.data());
    _stream.avail_out = static_cast<uInt>(out.size());
    if (deflate(&_stream, Z_FINISH) != Z_STREAM_END)
      throw std::runtime_error("a body that cannot be compressed");
    out.resize(out.size() - _stream.avail_out);
    return out;
  }

private:
  z_stream _stream{};
};

/// Whether half a character of UTF-16 begins there, which is three bytes long.
bool is_surrogate(std::string_view text, std::size_t at) {
  return text[at] == '\xed' && at + 1 < text.size() &&
         static_cast<unsigned char>(text[at + 1]) >= 0xa0;
}

} // namespace

std::string compressed(std::string_view body) {
  static thread_local Compressor compressor;
  return compressor(body);
}

std::string detail_body(const Placement &placement) {
  std::string body = R"({"achieved":)";
  json::put(body, placement.achieved);
  body += R"(,"file_verdict":)";
  json::put(body, placement.file_verdict);
  body += '}';
  return compressed(body);
}

bool is_plain(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at++)
    if (text[at] == '\0' || is_surrogate(text, at))
      return false;
  return true;
}

std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at++) {
    if (text[at] == '\0') {
      out += "\xef\xbf\xbd";
    } else if (is_surrogate(text, at)) {
      out += '?';
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

} // namespace ses::state
