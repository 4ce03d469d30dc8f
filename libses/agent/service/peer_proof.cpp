#include "service/peer_proof.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

#include "node/unique_fd.h"

namespace ses::agent {
namespace {

constexpr const char *kServiceUser = "qstorman"; // of the packages
constexpr unsigned kListening = 0x0A;
constexpr const char *kAnyV4 = "00000000";
constexpr const char *kAnyV6 = "00000000000000000000000000000000";
const std::string kMend =
    "; use unix:/run/qstorman/service.sock or https, or name the service's user by --service-user";

void read_table(const char *path, int port, std::vector<ListeningSocket> &sockets) {
  const std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path, "re"), std::fclose);
  char line[512];
  while (file && std::fgets(line, sizeof line, file.get()) != nullptr) {
    char address[33];
    unsigned at = 0;
    unsigned state = 0;
    unsigned uid = 0;
    uint64_t inode = 0;
    if (std::sscanf(line, " %*d: %32[0-9A-F]:%x %*s %x %*s %*s %*s %u %*s %" SCNu64, address, &at,
                    &state, &uid, &inode) != 5) {
      continue; // the heading
    }
    if (state != kListening) {
      return; // those that listen come first, and a busy machine has many others
    }
    if (static_cast<int>(at) == port) {
      sockets.push_back({address, uid, inode});
    }
  }
}

std::string words_of(const unsigned char *bytes, size_t length) {
  std::string text;
  for (size_t at = 0; at < length; at += sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, bytes + at, sizeof word); // the kernel prints words in the machine's order
    char hex[9];
    std::snprintf(hex, sizeof hex, "%08X", word);
    text += hex;
  }
  return text;
}

// The addresses a listener for PEER may have, those the kernel prefers first; none if it is not on
// this machine's loopback.
std::vector<std::string> addresses_for(const sockaddr_storage &peer) {
  if (peer.ss_family == AF_INET) {
    const auto &v4 = reinterpret_cast<const sockaddr_in &>(peer);
    if (ntohl(v4.sin_addr.s_addr) >> 24 != 127) {
      return {};
    }
    unsigned char mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::memcpy(mapped + 12, &v4.sin_addr, 4);
    return {words_of(mapped + 12, 4), words_of(mapped, 16), kAnyV4, kAnyV6};
  }
  const auto &v6 = reinterpret_cast<const sockaddr_in6 &>(peer);
  if (peer.ss_family != AF_INET6 || !IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)) {
    return {};
  }
  return {words_of(v6.sin6_addr.s6_addr, 16), kAnyV6};
}

// The sockets one of which took the connection.
std::vector<ListeningSocket> takers(const std::vector<ListeningSocket> &listening,
                                    const std::vector<std::string> &addresses) {
  std::vector<ListeningSocket> sockets;
  for (const std::string &address : addresses) {
    std::copy_if(listening.begin(), listening.end(), std::back_inserter(sockets),
                 [&](const ListeningSocket &taker) { return taker.address == address; });
    if (!sockets.empty()) {
      break;
    }
  }
  std::sort(sockets.begin(), sockets.end(),
            [](const auto &a, const auto &b) { return a.inode < b.inode; });
  return sockets;
}

std::string stranger(uid_t uid) {
  return "uid " + std::to_string(uid) +
         " listens there, neither root, nor the agent's user, nor the service's" + kMend;
}

} // namespace

TrustedUsers TrustedUsers::of(const std::string &service_user, std::string &why) {
  TrustedUsers users;
  users.uids_ = {0, geteuid()};
  why.clear();
  const std::string name = service_user.empty() ? kServiceUser : service_user;
  if (name.find_first_not_of("0123456789") == std::string::npos && name.size() < 10) {
    users.uids_.push_back(static_cast<uid_t>(std::stoul(name)));
  } else if (const passwd *account = getpwnam(name.c_str()); account != nullptr) {
    users.uids_.push_back(account->pw_uid);
  } else if (!service_user.empty()) {
    why = "--service-user: this machine knows no user " + service_user;
  }
  return users;
}

bool TrustedUsers::has(uid_t uid) const {
  return std::find(uids_.begin(), uids_.end(), uid) != uids_.end();
}

std::vector<ListeningSocket> listening_on(int port) {
  std::vector<ListeningSocket> sockets;
  read_table("/proc/net/tcp", port, sockets);
  read_table("/proc/net/tcp6", port, sockets);
  return sockets;
}

std::string fault_of_tcp_peer(int descriptor, int port, const std::vector<ListeningSocket> &before,
                              const TrustedUsers &trusted) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (getpeername(descriptor, reinterpret_cast<sockaddr *>(&peer), &length) != 0) {
    return std::strerror(errno);
  }
  const auto addresses = addresses_for(peer);
  if (addresses.empty()) {
    return "its address is not on this machine, where http is not safe; use https";
  }
  const auto now = takers(listening_on(port), addresses);
  const auto then = takers(before, addresses);
  for (const ListeningSocket &taker : now) {
    if (!trusted.has(taker.uid)) {
      return stranger(taker.uid);
    }
  }
  const bool same =
      std::equal(now.begin(), now.end(), then.begin(), then.end(),
                 [](const auto &a, const auto &b) { return a.inode == b.inode && a.uid == b.uid; });
  if (now.empty() || !same) {
    return "the kernel does not say who listens there" + kMend;
  }
  return "";
}

int connect_to_trusted(const std::string &path, const TrustedUsers &trusted, std::string &why) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    why = "the path of the socket is too long";
    return -1;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval timeout{1, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (!fd || connect(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0) {
    why = std::strerror(errno);
    return -1;
  }
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    why = std::strerror(errno);
    return -1;
  }
  if (!trusted.has(peer.uid)) {
    why = stranger(peer.uid);
    return -1;
  }
  return fd.release();
}

} // namespace ses::agent
