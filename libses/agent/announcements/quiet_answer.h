// Answers of the service in which nothing is new: the last one again, at another time.
//
// Where files are open an agent asks ten times a second, and most answers differ from the one
// before in two numbers: the time of a table, and the number of the announcement that is stored.
// Those are read from the text, which costs a hundredth of parsing it.
//
// Pure.
#ifndef SES_AGENT_QUIET_ANSWER_H
#define SES_AGENT_QUIET_ANSWER_H

#include <optional>
#include <string>
#include <vector>

#include "announcements/announcement_reply.h"

namespace ses::agent {

class QuietAnswer {
public:
  // What parse_announcement_reply() makes of BODY, but that a table is to be kept, if nothing in it
  // is new since remember(); else none.
  [[nodiscard]] std::optional<AnnouncementReply> read(const std::string &body) const;
  // REPLY is what was made of BODY.
  void remember(const std::string &body, const AnnouncementReply &reply);

private:
  struct Text {
    std::string rest; // without the numbers
    std::vector<double> sent_at;
    uint64_t stored = 0;
    bool is_whole = false; // all numbers were understood
  };
  [[nodiscard]] static Text text_of(const std::string &body);

  Text last_;
  std::optional<AnnouncementReply> reply_; // none: something was new in it
};

} // namespace ses::agent

#endif // SES_AGENT_QUIET_ANSWER_H
