// The ways in which the bytes of a file can get into another, and what each costs.
//
// The cost is how often a byte crosses the memory bus of this machine, counted as by Cozette,
// Randriamaro and Utard (INRIA RR-4401, 2002, table 1): a transfer between a device and memory is
// one crossing, a copy from memory to memory two.  It orders the ways; it does not time them.
//
//   way                crossings   path of a byte
//   reflink                    0   none: both files share their blocks until one is written
//   copy_file_range       0 to 4   none where the server copies (NFS 4.2, SMB); else as splice
//   direct                     2   device, buffer of this program, device
//   splice                     4   device, page cache, page cache, device
//   read-write                 6   device, page cache, buffer of this program, page cache, device
#ifndef SES_COPY_WAY_H
#define SES_COPY_WAY_H

#include <array>
#include <optional>
#include <string_view>

namespace ses::copy {

enum class Way { kReflink, kCopyFileRange, kDirect, kSplice, kReadWrite };

inline constexpr std::array kWays{Way::kReflink, Way::kCopyFileRange, Way::kDirect, Way::kSplice,
                                  Way::kReadWrite};

constexpr std::string_view name_of(Way way) {
  constexpr std::array<std::string_view, kWays.size()> kNames{"reflink", "copy_file_range",
                                                              "direct", "splice", "read-write"};
  return kNames[static_cast<std::size_t>(way)];
}

constexpr std::optional<Way> way_named(std::string_view name) {
  for (const Way way : kWays) {
    if (name_of(way) == name) {
      return way;
    }
  }
  return std::nullopt;
}

} // namespace ses::copy

#endif // SES_COPY_WAY_H
