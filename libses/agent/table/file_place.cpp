#include "table/file_place.h"

#include <sys/xattr.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "ses/protocol.h"

namespace ses::agent {
namespace {

// struct lov_user_md_v1, _v3 and lov_comp_md_v1 of lustre_user.h, little-endian.
constexpr uint32_t kPlain = 0x0BD10BD0, kWithPool = 0x0BD30BD0, kComposite = 0x0BD60BD0;
constexpr size_t kStripes = 28, kPlainSize = 32, kPool = 32, kPoolSize = 16, kWithPoolSize = 48;
constexpr size_t kObjectSize = 24, kIndexInObject = 20;
constexpr size_t kEntries = 14, kFirstEntry = 32, kEntrySize = 48, kOffsetInEntry = 24;
constexpr size_t kMaxBytes = 65536;

template <typename Number> std::optional<Number> number_at(std::string_view bytes, size_t at) {
  Number number{};
  if (at + sizeof number > bytes.size()) {
    return std::nullopt;
  }
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::string attribute_of(int handle, const char *name) {
  std::string value(kMaxBytes, '\0');
  const std::string file = "/proc/self/fd/" + std::to_string(handle);
  const ssize_t length = getxattr(file.c_str(), name, value.data(), value.size());
  value.resize(static_cast<size_t>(std::max<ssize_t>(length, 0)));
  return value;
}

} // namespace

std::vector<std::string> targets_in_layout(std::string_view layout) {
  const uint32_t magic = number_at<uint32_t>(layout, 0).value_or(0);
  if (magic == kComposite) {
    const unsigned entries = number_at<uint16_t>(layout, kEntries).value_or(0);
    for (unsigned entry = 0; entry < entries; ++entry) {
      const auto at =
          number_at<uint32_t>(layout, kFirstEntry + entry * kEntrySize + kOffsetInEntry);
      const std::string_view part = layout.substr(std::min<size_t>(at.value_or(0), layout.size()));
      if (part.size() == layout.size() || number_at<uint32_t>(part, 0) == kComposite) {
        continue;
      }
      if (auto targets = targets_in_layout(part); !targets.empty()) {
        return targets;
      }
    }
    return {};
  }
  const size_t head = magic == kPlain ? kPlainSize : kWithPoolSize;
  const auto index = number_at<uint32_t>(layout, head + kIndexInObject);
  if ((magic != kPlain && magic != kWithPool) || !index ||
      number_at<uint16_t>(layout, kStripes).value_or(0) == 0) {
    return {};
  }
  std::vector<std::string> targets{std::to_string(*index)};
  if (magic == kWithPool) {
    const std::string_view pool = layout.substr(kPool, kPoolSize);
    targets.emplace_back(pool.substr(0, pool.find('\0')));
  }
  return targets;
}

std::vector<std::string> targets_of_file(uint32_t backend, int handle) {
  switch (backend) {
  case SES_BACKEND_MERGERFS:
    return {attribute_of(handle, "user.mergerfs.basepath")};
  case SES_BACKEND_LUSTRE:
    return targets_in_layout(attribute_of(handle, "lustre.lov"));
  default:
    return {};
  }
}

} // namespace ses::agent
