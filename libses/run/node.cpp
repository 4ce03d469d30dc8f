#include "node.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>

#include "ses/protocol.h"
#include "ses/table.h"

namespace ses::run {
namespace {

std::string socket_of(const std::string &given) {
  const char *named = std::getenv("SES_AGENT_SOCKET");
  if (!given.empty()) {
    return given;
  }
  return named != nullptr && *named != '\0' ? named : SES_AGENT_SOCKET_DEFAULT;
}

// Why nobody listens there, or nobody whom programs believe.
std::string why_no_agent(const std::string &path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return "the path is too long";
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return std::strerror(errno);
  }
  std::string why;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0) {
    why = errno == EAGAIN ? "" : std::strerror(errno); // EAGAIN: it has many to answer
  } else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    why = std::strerror(errno);
  } else if (peer.uid != 0 && peer.uid != geteuid()) {
    why = "uid " + std::to_string(peer.uid) + " listens, who is neither root nor you";
  }
  close(fd);
  return why;
}

bool is_alive(const ses_table_head &head, uint64_t socket_hash) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t now_ms =
      static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
  const uint64_t beat = __atomic_load_n(&head.heartbeat_ms, __ATOMIC_ACQUIRE);
  return head.socket_hash == socket_hash &&
         __atomic_load_n(&head.state, __ATOMIC_ACQUIRE) == SES_TABLE_ALIVE &&
         now_ms + SES_TABLE_STALE_MS - beat < 2 * uint64_t{SES_TABLE_STALE_MS};
}

void read_table(Node &node) {
  const uint64_t hash = ses_segment_hash(node.socket.c_str());
  const ses_segment_rule rule = ses_segment_published(geteuid(), true, sizeof(ses_table));
  const ses_segment_head kind = SES_TABLE_KIND;
  const int id = ses_segment_find(ses_segment_key(hash, 0));
  ses_segment_facts facts{};
  void *at = nullptr;
  if (id < 0 || ses_segment_attach(id, &rule, false, &facts, &at) != 0) {
    return;
  }
  const auto &table = *static_cast<const ses_table *>(at);
  if (ses_segment_is(at, &kind) && is_alive(table.head, hash)) {
    node.has_table = true;
    std::set<std::string> mount_points;
    const uint32_t used =
        std::min<uint32_t>(__atomic_load_n(&table.head.mounts, __ATOMIC_ACQUIRE), SES_TABLE_MOUNTS);
    for (uint32_t i = 0; i < used; ++i) {
      const ses_table_mount &mount = table.mounts[i];
      if (__atomic_load_n(&mount.system, __ATOMIC_ACQUIRE) < SES_TABLE_SYSTEMS) {
        mount_points.emplace(mount.mount_point,
                             strnlen(mount.mount_point, sizeof mount.mount_point));
      }
    }
    node.mounts.assign(mount_points.begin(), mount_points.end());
  }
  ses_segment_detach(at);
}

} // namespace

Node look_at_node(const std::string &socket) {
  Node node;
  node.socket = socket_of(socket);
  node.no_agent = why_no_agent(node.socket);
  if (node.no_agent.empty()) {
    read_table(node);
  }
  return node;
}

std::string lack_of(const Node &node) {
  if (!node.no_agent.empty()) {
    return "no agent listens at " + node.socket + " (" + node.no_agent +
           "), so until one does files go where the file system puts them; ses doctor says more";
  }
  if (node.has_table && node.mounts.empty()) {
    return "no managed storage is mounted here, so files go where the file system puts them; "
           "ses doctor says more";
  }
  return "";
}

} // namespace ses::run
