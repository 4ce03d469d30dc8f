#include "protocol/wire.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ses::agent {
namespace {

constexpr double kMib = 1 << 20, kMaxMib = UINT32_MAX;

// The message as a T, when its header is that of one.
template <typename T>
std::optional<T> message_of(std::span<const std::byte> message, ses_message_type type) {
  if (message.size() != sizeof(T)) {
    return std::nullopt;
  }
  T value;
  std::memcpy(&value, message.data(), sizeof value);
  const ses_header &header = value.header;
  if (header.magic != SES_PROTOCOL_MAGIC || header.version != SES_PROTOCOL_VERSION ||
      header.type != type || header.size != sizeof(T)) {
    return std::nullopt;
  }
  return value;
}

template <size_t N> std::optional<std::string> string_in(const char (&array)[N]) {
  const size_t length = strnlen(array, N);
  if (length == N) {
    return std::nullopt;
  }
  return std::string(array, length);
}

template <size_t N> bool copy_text(char (&array)[N], const std::string &text) {
  if (text.size() >= N || text.find('\0') != std::string::npos) {
    return false;
  }
  std::memcpy(array, text.c_str(), text.size() + 1);
  return true;
}

} // namespace

bool put_members(uint64_t (&words)[SES_MEMBER_WORDS], const std::vector<uint16_t> &members) {
  std::fill(std::begin(words), std::end(words), 0);
  for (const uint16_t ost : members) {
    if (ost >= SES_MEMBERS_MAX) {
      return false;
    }
    words[ost / 64] |= uint64_t{1} << ost % 64;
  }
  return true;
}

namespace {

// Where on Lustre; false when it does not fit.
bool put_lustre(ses_answer &answer, const Placement &placement) {
  if (!copy_text(answer.pool, placement.pool) || placement.osts.size() > SES_OSTS_MAX) {
    return false;
  }
  answer.lustre_form = placement.lustre_form;
  answer.ost_count = static_cast<uint32_t>(placement.osts.size());
  std::copy(placement.osts.begin(), placement.osts.end(), answer.osts);
  return put_members(answer.members, placement.members);
}

bool sensible(const ses_wire_requirement &requirement) {
  return requirement.kind >= SES_KIND_CURRENT_READ_RATE &&
         requirement.kind <= SES_KIND_FREE_CAPACITY && requirement.hard <= 1 &&
         ses_is_within_limits(&requirement) != 0;
}

} // namespace

std::string printable(std::string text) {
  for (char &c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      c = '?';
    }
  }
  return text;
}

std::optional<Ask> parse_ask(std::span<const std::byte> message) {
  const auto wire = message_of<ses_ask>(message, SES_MESSAGE_ASK);
  if (!wire || wire->requirement_count > SES_REQUIREMENTS_MAX || wire->expected_bytes < -1 ||
      (wire->rank.ranks != 0 && wire->rank.rank >= wire->rank.ranks)) {
    return std::nullopt;
  }
  const auto application = string_in(wire->application);
  const auto pool = string_in(wire->pool);
  if (!application || !pool) {
    return std::nullopt;
  }
  Ask ask;
  ask.device = makedev(wire->device_major, wire->device_minor);
  if (wire->expected_bytes >= 0) {
    ask.expected_bytes = wire->expected_bytes;
  }
  ask.stripe_size = wire->stripe_size;
  ask.stripe_count = wire->stripe_count;
  ask.application = printable(*application);
  ask.pool = printable(*pool);
  ask.rank = wire->rank;
  for (uint32_t i = 0; i < wire->requirement_count; ++i) {
    const ses_wire_requirement &requirement = wire->requirements[i];
    if (!sensible(requirement)) {
      return std::nullopt;
    }
    ask.requirements.push_back(Requirement{requirement.kind, requirement.hard == 1,
                                           requirement.minimum, requirement.weight});
  }
  return ask;
}

std::optional<Report> parse_report(std::span<const std::byte> message) {
  const auto wire = message_of<ses_report>(message, SES_MESSAGE_REPORT);
  if (!wire || (wire->outcome != SES_OUTCOME_CREATED && wire->outcome != SES_OUTCOME_NOT_CREATED)) {
    return std::nullopt;
  }
  return Report{wire->placement_id, wire->device, wire->inode, wire->outcome == SES_OUTCOME_CREATED,
                wire->error,        wire->fd};
}

ses_answer make_refusal(ses_answer_status status) {
  ses_answer answer{};
  answer.header =
      ses_header{SES_PROTOCOL_MAGIC, SES_PROTOCOL_VERSION, SES_MESSAGE_ANSWER, sizeof answer, 0};
  answer.status = status;
  return answer;
}

std::optional<ses_answer> make_place_answer(const Placement &placement, uint32_t asked_stripe_count,
                                            uint64_t asked_stripe_size) {
  ses_answer answer = make_refusal(SES_ANSWER_PLACE);
  answer.placement_id = placement.id;
  answer.distance = placement.distance;
  answer.stripe_size = asked_stripe_size != 0 ? asked_stripe_size : placement.stripe_size;
  answer.stripe_count = asked_stripe_count != 0 ? asked_stripe_count : placement.stripe_count;
  answer.backend = placement.backend;
  answer.least_free_mib =
      static_cast<uint32_t>(std::clamp(std::ceil(placement.least_free / kMib), 0.0, kMaxMib));
  if (!copy_text(answer.element, placement.element)) {
    return std::nullopt;
  }
  const bool fits = placement.backend == SES_BACKEND_LUSTRE
                        ? put_lustre(answer, placement)
                        : copy_text(answer.stage, placement.stage) &&
                              copy_text(answer.stage_in_union, placement.stage_in_union);
  if (!fits) {
    return std::nullopt;
  }
  return answer;
}

} // namespace ses::agent
