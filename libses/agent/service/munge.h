// Credentials of MUNGE: proof of which user and host this is, for whoever has the site's MUNGE key.
//
// libmunge is loaded while the agent runs and not linked: nodes of sites without MUNGE need none.
#ifndef SES_AGENT_SERVICE_MUNGE_H
#define SES_AGENT_SERVICE_MUNGE_H

#include <memory>
#include <string>

namespace ses::agent {

class Munge {
public:
  // SOCKET: where munged listens; empty for MUNGE's own default.  None without the library; WHY
  // then says so.
  [[nodiscard]] static std::unique_ptr<Munge> load(const std::string &socket, std::string &why);

  // A credential that carries PAYLOAD.  Empty when munged makes none, and WHY says why.  Waits some
  // seconds for a munged that does not answer.  Any thread.
  [[nodiscard]] std::string encode(const std::string &payload, std::string &why) const;

private:
  // As declared in munge.h, whose numbers and types do not change within libmunge.so.2.
  struct Calls {
    void *(*create)() = nullptr;
    void (*destroy)(void *) = nullptr;
    int (*set)(void *, int, ...) = nullptr;
    int (*encode)(char **, void *, const void *, int) = nullptr;
    const char *(*words)(int) = nullptr;
  };

  Munge(const Calls &calls, std::string socket) : calls_(calls), socket_(std::move(socket)) {}

  const Calls calls_;
  const std::string socket_;
};

} // namespace ses::agent

#endif // SES_AGENT_SERVICE_MUNGE_H
