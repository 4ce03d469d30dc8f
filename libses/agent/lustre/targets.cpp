#include "lustre/targets.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "node/unique_fd.h"

namespace ses::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::array kRoots = {"proc/fs/lustre", "sys/fs/lustre", "sys/kernel/debug/lustre"};
constexpr size_t kIndexDigits = 4;

// IOC_OBD_STATFS: the head of struct obd_ioctl_data, and what lies behind it.
constexpr unsigned long kObdStatfs = 0xc00866a4;
constexpr uint32_t kVersion = 0x00010004;
constexpr size_t kHead = 576, kStatfs = 144, kUuid = 40, kStateAt = 104;
constexpr uint32_t kLov = 2, kNodelay = 4;
constexpr uint32_t kReadOnly = 0x2, kNoCreate = 0x4, kNoSpace = 0x20, kNoInodes = 0x40;

std::vector<std::string> names_in(const fs::path &directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator it(directory, ignored), end; it != end; it.increment(ignored)) {
    names.push_back(it->path().filename());
  }
  return names;
}

std::optional<std::string> content_of(const fs::path &path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return std::nullopt;
  }
  return text.str();
}

// The parameter of a device, from the first place where it can be read.
std::optional<std::string> parameter(const fs::path &root, const std::string &kind,
                                     const std::string &device, const std::string &name) {
  for (const char *place : kRoots) {
    if (auto text = content_of(root / place / kind / device / name)) {
      return text;
    }
  }
  return std::nullopt;
}

std::set<std::string> devices(const fs::path &root, const std::string &kind) {
  std::set<std::string> names;
  for (const char *place : kRoots) {
    for (std::string &name : names_in(root / place / kind)) {
      names.insert(std::move(name));
    }
  }
  return names;
}

// "OST0003" at the start of TEXT; the index is hexadecimal.
std::optional<uint16_t> index_of(const std::string &text) {
  if (!text.starts_with("OST") || text.size() < 3 + kIndexDigits ||
      text.find_first_not_of("0123456789abcdef", 3) < 3 + kIndexDigits) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(std::stoul(text.substr(3, kIndexDigits), nullptr, 16));
}

// "    state: DISCONN" -> "DISCONN"
std::string state_in(const std::string &import) {
  const std::string key = "\n    state: ";
  const size_t at = import.find(key);
  if (at == std::string::npos) {
    return "";
  }
  const size_t begin = at + key.size();
  return import.substr(begin, import.find_first_of(" \n", begin) - begin);
}

// Why no file may go to the OST of DEVICE, as far as is shown; none: its state is not.
std::optional<std::string> trouble_of(const fs::path &root, const std::string &device) {
  if (parameter(root, "osc", device, "active").value_or("1").starts_with('0')) {
    return "it is deactivated on this node";
  }
  const std::string state = state_in(parameter(root, "osc", device, "import").value_or(""));
  if (state.empty()) {
    return std::nullopt;
  }
  return state == "FULL" || state == "IDLE" ? "" : "its server is not connected: " + state;
}

std::map<std::string, std::set<uint16_t>> read_pools(const fs::path &root,
                                                     const std::string &file_system) {
  std::map<std::string, std::set<uint16_t>> pools;
  for (const std::string &device : devices(root, "lov")) {
    if (!device.starts_with(file_system + "-clilov")) {
      continue;
    }
    for (const char *place : kRoots) {
      const fs::path directory = root / place / "lov" / device / "pools";
      for (const std::string &pool : names_in(directory)) {
        std::set<uint16_t> &members = pools[pool];
        std::istringstream lines(content_of(directory / pool).value_or(""));
        for (std::string line; std::getline(lines, line);) {
          if (line.starts_with(file_system + "-")) {
            if (const auto index = index_of(line.substr(file_system.size() + 1))) {
              members.insert(*index);
            }
          }
        }
      }
    }
  }
  return pools;
}

} // namespace

std::string ask_lustre_target(const std::string &mount_point, uint16_t ost,
                              std::atomic<bool> &at_server) {
  const UniqueFd mount(open(mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (mount.get() < 0) {
    return "";
  }
  at_server = true;
  std::array<unsigned char, kHead + 16> data{};
  std::array<unsigned char, kStatfs> statfs{};
  std::array<char, kUuid> uuid{};
  const auto put = [&data](size_t at, const auto &value) {
    std::memcpy(data.data() + at, &value, sizeof value);
  };
  const uint64_t somewhere = 1; // the kernel finds the inline buffers behind the head
  put(0, static_cast<uint32_t>(data.size()));
  put(4, kVersion);
  put(480, static_cast<uint32_t>(kStatfs));
  put(488, statfs.data());
  put(496, static_cast<uint32_t>(kUuid));
  put(504, uuid.data());
  put(512, static_cast<uint32_t>(sizeof(uint32_t)));
  put(520, somewhere);
  put(528, static_cast<uint32_t>(sizeof(uint32_t)));
  put(536, somewhere);
  put(kHead, kLov | kNodelay);
  put(kHead + 8, static_cast<uint32_t>(ost));
  if (ioctl(mount.get(), kObdStatfs, data.data()) != 0) {
    const bool cannot_ask = errno == ENOTTY || errno == EOPNOTSUPP || errno == EPERM;
    return cannot_ask ? "" : std::string("its server does not answer: ") + std::strerror(errno);
  }
  uint32_t state = 0;
  std::memcpy(&state, statfs.data() + kStateAt, sizeof state);
  if (state & (kReadOnly | kNoCreate)) {
    return "it takes no files";
  }
  return state & (kNoSpace | kNoInodes) ? "it is full" : "";
}

LustreTargets read_lustre_targets(const std::string &root, const std::string &file_system) {
  LustreTargets targets;
  const std::string prefix = file_system + "-";
  for (const std::string &device : devices(root, "osc")) {
    // lustre-OST0003-osc-ffff8930265bc000; a server's own ends in -osc-MDT0000.
    const auto index =
        device.starts_with(prefix) ? index_of(device.substr(prefix.size())) : std::nullopt;
    const bool client =
        device.find("-osc-") != std::string::npos && device.find("-osc-MDT") == std::string::npos;
    if (!index || !client) {
      continue;
    }
    targets.seen.insert(*index);
    if (auto why = trouble_of(root, device); !why) {
      targets.unknown.insert(*index);
    } else if (!why->empty()) {
      targets.troubled.try_emplace(*index, std::move(*why));
    }
  }
  targets.pools = read_pools(root, file_system);
  return targets;
}

std::string lustre_name_of(const Mount &mount) {
  const size_t colon = mount.source.rfind(":/"); // "10.0.0.5@o2ib:/lfs01/home"
  return mount.type == "lustre" && colon != std::string::npos
             ? mount.source.substr(colon + 2, mount.source.find('/', colon + 2) - (colon + 2))
             : "";
}

std::optional<LustreMount> find_lustre(const std::string &mountinfo, const std::string &mount_point,
                                       const std::string &name) {
  const std::vector<Mount> mounts = parse_mountinfo(mountinfo);
  const Mount *own = mounted_at(mounts, mount_point);
  if (std::string own_name = own != nullptr ? lustre_name_of(*own) : ""; !own_name.empty()) {
    return LustreMount{std::move(own_name), mount_point};
  }
  for (const Mount &mount : mounts) {
    if (lustre_name_of(mount) == name && mounted_at(mounts, mount.point) == &mount) {
      return LustreMount{name, mount.point};
    }
  }
  return std::nullopt;
}

} // namespace ses::agent
