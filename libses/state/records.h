/*
 * What the service records of one placement: whose file it is, where it went, why, and how it
 * ended.
 *
 * Plain data, no lock, no system call.  A record that others may have is never changed but
 * replaced.  What only people ask for (the explanation of a decision, what a place has) is the
 * caller's: it lies here as a handle that nothing here looks into.  Times are seconds since the
 * epoch, sizes bytes, rates bytes per second. What each value means is said by
 * `ses_service.ledger`, whose names these are.
 */
#ifndef SES_STATE_RECORDS_H
#define SES_STATE_RECORDS_H

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ses::state {

using Id = std::uint64_t; /* of a placement; 16 hexadecimal digits as a text */
using Handle = std::shared_ptr<void>;
using Text = std::optional<std::string>;
using Number = std::optional<double>;

std::string text_of(Id id);
/* Nothing where it is not 16 digits. */
std::optional<Id> id_of(std::string_view text);

struct Subject {
  std::string user;
  Text application, vo, node, job;
  bool operator==(const Subject &) const = default;
};
using SubjectPtr = std::shared_ptr<const Subject>;

/* An element, as the site described it when the file was placed.  NUMBER is the same for each of
 * its name. */
struct Element {
  std::string id, system, target;
  std::string row; /* what a row of the database says of it: JSON */
  std::uint32_t number = 0;
  std::vector<std::pair<std::string, double>> stated; /* of kinds that are not predicted */
  Handle object;
};
using ElementPtr = std::shared_ptr<const Element>;
std::uint32_t number_of(const std::string &element);
std::uint32_t numbers();

enum class Predicts : std::uint8_t { no, read, average_read, write, average_write, free };

struct Kind {
  std::string name, unit;
  std::string record; /* as records keep it */
  double size = 1.0;
  bool at_most = false;
  Predicts predicts = Predicts::no;
  Handle object;
};
using KindPtr = std::shared_ptr<const Kind>;

struct Prediction {
  KindPtr kind;
  Number value;
  double bound = 0.0, shortfall = 0.0;
};

struct Offered {
  Number read, write, average_read, average_write, free;
  bool operator==(const Offered &) const = default;
};

using Sample = std::array<double, 3>;

enum class Doubt : std::uint8_t { page_cache, too_small, too_short, shared, gaps, mapped };
enum class Verdict : std::uint8_t { met, nearly, missed, cannot_say };
enum class Cause : std::uint8_t { program, slow_element, others, foreseen, client_or_network };
enum class EndReason : std::uint8_t { closed, exited, unused, expired, failed, lost, silent };
constexpr std::size_t end_reasons = 7;

template <class E> struct Names;
template <> struct Names<Doubt> {
  static constexpr std::array<std::string_view, 6> names{"page-cache", "too-small", "too-short",
                                                         "shared",     "gaps",      "mapped"};
};
template <> struct Names<Verdict> {
  static constexpr std::array<std::string_view, 4> names{"met", "nearly", "missed", "cannot-say"};
};
template <> struct Names<Cause> {
  static constexpr std::array<std::string_view, 5> names{"program", "slow-element", "others",
                                                         "foreseen", "client-or-network"};
};
template <> struct Names<EndReason> {
  static constexpr std::array<std::string_view, end_reasons> names{
      "closed", "exited", "unused", "expired", "failed", "lost", "silent"};
};
template <class E>
concept Named = requires {
  Names<E>::names;
};

template <Named E> std::string_view name_of(E value) {
  return Names<E>::names[static_cast<std::size_t>(value)];
}
template <Named E> std::optional<E> named(std::string_view name) {
  for (std::size_t at = 0; at < Names<E>::names.size(); at++)
    if (Names<E>::names[at] == name)
      return static_cast<E>(at);
  return {};
}

struct Achieved {
  double bytes_written = 0.0, bytes_read = 0.0;
  double writing_seconds = 0.0, reading_seconds = 0.0, open_seconds = 0.0;
  Number bytes_on_device;
  std::vector<Doubt> doubts;
  std::vector<Sample> samples;
  bool operator==(const Achieved &) const = default;
};
using AchievedPtr = std::shared_ptr<const Achieved>;

struct KindVerdict {
  KindPtr kind;
  double bound = 0.0;
  Number predicted, achieved, at_least;
  Verdict verdict = Verdict::met;
  std::string why;
};

struct FileVerdict {
  std::optional<Verdict> verdict;
  std::vector<KindVerdict> kinds;
  std::optional<std::size_t> worst;
  std::optional<Cause> cause;
  std::string why;
  std::vector<Sample> load;
};
using FileVerdictPtr = std::shared_ptr<const FileVerdict>;

struct Required {
  KindPtr kind;
  double bound = 0.0;
  bool hard = false;
};

/* What the placements of one decision share. */
struct Why {
  Handle requirements, candidates, refused;
  std::vector<std::string> notes;
  std::vector<Required> required;
  std::unordered_map<std::string, int> ranks;
  Text expected_from;
  double rate = 0.0, hard_rate = 0.0; /* the largest rates of writing asked for */
};
using WhyPtr = std::shared_ptr<const Why>;

struct Held {
  Handle object;
  std::string row;
};
using HeldPtr = std::shared_ptr<const Held>;

struct Placement {
  Id id = 0;
  SubjectPtr subject;
  std::vector<ElementPtr> elements; /* at least one */
  std::string backend;
  double distance = 0.0, placed_at = 0.0, lease_until = 0.0;
  std::vector<Prediction> predicted;
  WhyPtr why;
  std::vector<std::string> notes;
  bool why_notes = true; /* those of WHY come after these */
  int rank = 1, batch_number = 1, batch_size = 1, stripe_count = 1;
  std::optional<std::int64_t> stripe_size;
  std::string decided_by = "service";
  Number expected_bytes;
  Text expected_from;
  bool ended = false, idle = false;
  Text path;
  std::optional<std::uint64_t> device;
  Text inode;
  std::optional<std::int64_t> pid;
  Number opened_at, resumed_at, ended_at;
  std::optional<EndReason> end_reason;
  Number bytes_written;
  AchievedPtr achieved;
  FileVerdictPtr file_verdict;
  HeldPtr held;

  double began() const { return resumed_at.value_or(placed_at); }
};
using PlacementPtr =
    std::shared_ptr<Placement>; /* changed only by who made it, before others have it */

/* Whether a placement that ended like this may be found open again. */
inline bool may_return(const std::optional<EndReason> &reason) {
  return reason == EndReason::expired || reason == EndReason::lost || reason == EndReason::silent;
}

constexpr double forever = std::numeric_limits<double>::infinity();

} // namespace ses::state

#endif /* SES_STATE_RECORDS_H */
