#include "server/listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "ses/protocol.h"

namespace ses::agent {
namespace {

constexpr mode_t kEverybodyMayAsk = 0666;

std::string directory_of(const std::string &path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Not the directory itself: anybody who can open that can lock it.
UniqueFd lock_beside(const std::string &path, std::string &why) {
  const std::string lock = path + ".lock";
  UniqueFd fd(open(lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) {
    why = "socket directory " + directory_of(path) + ": " + std::strerror(errno) +
          "; create it, owned by the agent's user";
  } else if (flock(fd.get(), LOCK_EX) != 0) {
    why = lock + ": " + std::strerror(errno);
    fd.reset();
  }
  return fd;
}

// Makes room for the socket file.  Only a socket of the agent's own user on which nobody listens
// is removed.
bool clear_path(const std::string &path, const sockaddr_un &address, std::string &why) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return true;
    }
    why = path + ": " + std::strerror(errno);
    return false;
  }
  if (!S_ISSOCK(status.st_mode)) {
    why = path + " exists and is not a socket; remove it or choose another --socket";
    return false;
  }
  if (status.st_uid != geteuid()) {
    why = path + " belongs to uid " + std::to_string(status.st_uid) +
          "; remove it or choose another --socket";
    return false;
  }
  const UniqueFd probe(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int result =
      connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address);
  if (result == 0 || errno != ECONNREFUSED) {
    why = "another process listens on " + path + "; stop it first or choose another --socket";
    return false;
  }
  if (unlink(path.c_str()) != 0) {
    why = path + " is left over and cannot be removed: " + std::strerror(errno);
    return false;
  }
  return true;
}

} // namespace

std::unique_ptr<Listener> Listener::open(const std::string &path, std::string &why) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    why = "socket path '" + path + "' is empty or longer than " +
          std::to_string(sizeof address.sun_path - 1) + " bytes";
    return nullptr;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (path == SES_AGENT_SOCKET_DEFAULT) {
    const mode_t before = umask(022);
    mkdir(directory_of(path).c_str(), 0755); // failing is noticed when it is opened
    umask(before);
  }
  const UniqueFd lock = lock_beside(path, why);
  if (!lock || !clear_path(path, address, why)) {
    return nullptr;
  }
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = umask(0777 & ~kEverybodyMayAsk);
  const int bound = bind(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address);
  const int error = errno;
  umask(before);
  struct stat status {};
  if (bound != 0 || listen(fd.get(), SOMAXCONN) != 0 || lstat(path.c_str(), &status) != 0) {
    why = "cannot listen on " + path + ": " + std::strerror(bound != 0 ? error : errno);
    return nullptr;
  }
  return std::unique_ptr<Listener>(new Listener(path, std::move(fd), status.st_dev, status.st_ino));
}

Listener::~Listener() {
  struct stat status {};
  if (lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

} // namespace ses::agent
