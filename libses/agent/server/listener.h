// The agent's socket file: made, replaced only when nobody answers on it, removed at the end.
#ifndef SES_AGENT_LISTENER_H
#define SES_AGENT_LISTENER_H

#include <sys/types.h>

#include <memory>
#include <string>

#include "node/unique_fd.h"

namespace ses::agent {

class Listener {
public:
  // Listens at PATH with mode 0666, non-blocking.  The directory of the default path is made
  // (0755) when missing; another one must exist.  Two agents started together are kept apart by
  // a lock on the file PATH.lock, which nobody else can open, and which stays.  Null when it cannot
  // be had, with the cause and the next step in WHY: another agent listens there, or what lies
  // there is not a socket of the agent's own.
  [[nodiscard]] static std::unique_ptr<Listener> open(const std::string &path, std::string &why);
  // Removes the socket file unless somebody has put another one there.
  ~Listener();

  [[nodiscard]] int descriptor() const { return socket_.get(); }

private:
  Listener(std::string path, UniqueFd socket, dev_t device, ino_t inode)
      : path_(std::move(path)), socket_(std::move(socket)), device_(device), inode_(inode) {}

  const std::string path_;
  const UniqueFd socket_;
  const dev_t device_;
  const ino_t inode_;
};

} // namespace ses::agent

#endif // SES_AGENT_LISTENER_H
