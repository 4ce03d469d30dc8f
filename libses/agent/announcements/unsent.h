// Announcements that no service took, or stored, before the agent stopped: the next agent makes
// them.
//
// Only of files that ended: the next agent could not learn when a file ended that was open.  No
// threads. A file that cannot be read or written is as good as none.
#ifndef SES_AGENT_UNSENT_H
#define SES_AGENT_UNSENT_H

#include <cstdint>
#include <deque>
#include <string>

#include "announcements/announcement.h"

namespace ses::agent {

class Unsent {
public:
  // Reads DIRECTORY/unsent.
  explicit Unsent(const std::string &directory);

  [[nodiscard]] bool empty() const { return bodies_.empty(); }
  // The first as if it was HEAD's, whose files do not count.
  [[nodiscard]] std::string first(const Announcement &head) const;
  // The first is done with.
  void drop_first();

  void add(const Announcement &announcement);
  // Writes those that are left for the next agent.  Returns nothing, or why not.
  [[nodiscard]] std::string keep() const;

private:
  const std::string directory_;
  std::deque<std::string> bodies_; // each a JSON object on one line
};

} // namespace ses::agent

#endif // SES_AGENT_UNSENT_H
