// Who listens where this agent asks: proof that a service on this machine is the service.
//
// Anybody may take a port, or the path of a socket, that a stopped service left.  The kernel says
// which user did: for a UNIX socket by SO_PEERCRED, for a TCP port by /proc/net/tcp, where the
// listening socket has to be the same before and after the connection was made.
#ifndef SES_AGENT_PEER_PROOF_H
#define SES_AGENT_PEER_PROOF_H

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ses::agent {

// The users a service on this machine may run as: root, the agent's own, and the service's.
class TrustedUsers {
public:
  // SERVICE_USER: name or number of the service's user; empty for that of the packages, if there is
  // one.  WHY says what is wrong with a user that was named and does not exist.
  [[nodiscard]] static TrustedUsers of(const std::string &service_user, std::string &why);
  [[nodiscard]] bool has(uid_t uid) const;

private:
  std::vector<uid_t> uids_;
};

// A socket somebody listens with: an address as the kernel prints it, its owner and its inode.
struct ListeningSocket {
  std::string address;
  uid_t uid = 0;
  uint64_t inode = 0;
};

// Everything that listens on PORT, on whichever address.
[[nodiscard]] std::vector<ListeningSocket> listening_on(int port);

// Why the other end of a connected TCP socket is not proven, or empty.  BEFORE is what listened
// before it was connected.
[[nodiscard]] std::string fault_of_tcp_peer(int descriptor, int port,
                                            const std::vector<ListeningSocket> &before,
                                            const TrustedUsers &trusted);

// A connection to the UNIX socket at PATH, whose listener is trusted; -1 and WHY when there is
// none.
[[nodiscard]] int connect_to_trusted(const std::string &path, const TrustedUsers &trusted,
                                     std::string &why);

} // namespace ses::agent

#endif // SES_AGENT_PEER_PROOF_H
