// Messages of ses/protocol.h turned into checked values, and back.
//
// Pure: no descriptor, clock or log.  Whatever is not exactly what the header
// describes (magic, version, type, size, NUL-terminated strings, kinds and
// numbers in range) is refused as a whole; nothing is repaired.
#ifndef SES_AGENT_WIRE_H
#define SES_AGENT_WIRE_H

#include <sys/types.h>

#include <cerrno>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ses/protocol.h"

namespace ses::agent {

// One requirement stated in an API call; MB/s (10^6 bytes per second) or GB (10^9 bytes).
struct Requirement {
  uint32_t kind = 0; // enum ses_kind
  bool hard = false;
  double minimum = 0;
  double weight = 1;
  auto operator<=>(const Requirement &) const = default;
};

struct Ask {
  dev_t device = 0;                      // st_dev of the directory the file is created in
  std::optional<int64_t> expected_bytes; // not known: none
  uint64_t stripe_size = 0;              // 0: the agent chooses
  uint32_t stripe_count = 0;             // 0: the agent chooses
  std::string application;               // empty: the program did not say; no control characters
  std::string pool;                      // empty: any
  ses_rank rank{};                       // within its job
  std::vector<Requirement> requirements;
};

struct Report {
  uint64_t placement_id = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
  bool created = false;
  int error = 0;
  int fd = -1;
};

// Is ERROR, which ended a create, the element's?  Not that somebody else had the name first, that
// the program has no descriptor left, that a file of this size is better off elsewhere (EFBIG), or
// that the directory is reached by another mount of the union (EXDEV).
[[nodiscard]] constexpr bool is_of_element(int error) {
  return error != 0 && error != EEXIST && error != EMFILE && error != ENFILE && error != EFBIG &&
         error != EXDEV;
}

// Is it one that the next create there meets as well?  Not EROFS: a container or a service may see
// a branch, or the union, mounted read-only that others write.
[[nodiscard]] constexpr bool is_of_branch(int error) {
  return error == ENOSPC || error == EDQUOT || error == EPERM || error == EMLINK ||
         error == EOPNOTSUPP || error == EIO;
}

struct Choice; // table/choice.h
struct Origin; // announcement.h

// Where a file is to be created, with the staging directories.
struct Placement {
  uint64_t id = 0;
  uint32_t backend = SES_BACKEND_NONE;
  std::string element;
  std::string target; // path of the branch; empty where the back end has none
  std::string stage;
  std::string stage_in_union;
  double least_free = 0; // bytes; mergerfs: with less the file is left to the union
  double distance = 0;
  uint32_t stripe_count = 0;
  uint64_t stripe_size = 0;
  uint32_t lustre_form = SES_LUSTRE_NONE; // enum ses_lustre_form
  std::vector<uint16_t> osts;             // Lustre: in the order of stripes
  std::string pool;                       // Lustre: empty: none
  std::vector<uint16_t> members;          // Lustre, with SES_LUSTRE_POOL: the pool's OSTs
  std::shared_ptr<const Origin> origin;   // how it came about, as the next; null: not known
  std::shared_ptr<const Choice> choice;
};

[[nodiscard]] std::optional<Ask> parse_ask(std::span<const std::byte> message);
[[nodiscard]] std::optional<Report> parse_report(std::span<const std::byte> message);

// An answer without a placement.
[[nodiscard]] ses_answer make_refusal(ses_answer_status status);
// "Create it there"; the program's own stripe hints win over the placement's.  None when a string
// or the list of OSTs does not fit its array, which a caller treats like a placement that cannot be
// used.
[[nodiscard]] std::optional<ses_answer> make_place_answer(const Placement &placement,
                                                          uint32_t asked_stripe_count,
                                                          uint64_t asked_stripe_size);

// The set of the OSTs MEMBERS, as protocol.h has it; false when one does not fit.
[[nodiscard]] bool put_members(uint64_t (&words)[SES_MEMBER_WORDS],
                               const std::vector<uint16_t> &members);

// TEXT with every control character replaced, fit for a log line and for JSON.
[[nodiscard]] std::string printable(std::string text);

} // namespace ses::agent

#endif // SES_AGENT_WIRE_H
