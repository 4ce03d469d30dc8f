// Questions to the servers of OSTs whose connection's state cannot be read: few, one after the
// other, and only about OSTs that files go to.
//
// Each question is a request to a server, from every node; hence one at a time and long apart.  It
// may hang: so each has a thread of its own, which nobody waits for, and an OST whose question has
// not come back in time counts as lost until it does.  Questions about other OSTs go on.
//
// Belongs to one thread; no lock, log or clock.
#ifndef SES_AGENT_LUSTRE_QUESTIONS_H
#define SES_AGENT_LUSTRE_QUESTIONS_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace ses::agent {

class LustreQuestions {
public:
  using Time = std::chrono::steady_clock::time_point;
  // Asks for one OST, on a thread that nobody waits for: empty, or why no file may go there.  Sets
  // `at_server` when nothing but the OST's own server can hold it up any more.
  using Ask = std::function<std::string(uint16_t ost, std::atomic<bool> &at_server)>;

  struct Pace {
    std::chrono::milliseconds every{10'000};  // from one question to the next
    std::chrono::milliseconds limit{2'000};   // for one question
    std::chrono::milliseconds in_use{60'000}; // an OST is, after a file went there
  };
  static constexpr size_t kHanging = 8; // with this many unanswered none is asked

  explicit LustreQuestions(const Pace &pace) : pace_(pace) {}

  // A file went, or is going, to OST.
  void use(uint16_t ost, Time now) { asked_[ost].used_at = now; }
  // Takes answers in, and asks for the one of the OSTs not KNOWN otherwise that is in use or in
  // trouble and was not asked about for the longest time, if it is time for a question;
  // true when a question was asked.
  bool go_on(const std::set<uint16_t> &unknown, const Ask &ask, Time now);
  // Of OSTs, why no file may go there.
  [[nodiscard]] std::map<uint16_t, std::string> troubled() const;

private:
  struct Question { // of one thread and this
    std::atomic<bool> at_server{false}, answered{false};
    std::string answer; // before `answered`
  };
  struct About {
    Time used_at = Time::min();
    Time asked_at = Time::min();
    std::shared_ptr<Question> question; // under way
    std::string trouble;
  };
  void take_answer(About &about, Time now);

  const Pace pace_;
  Time last_ = Time::min();
  std::map<uint16_t, About> asked_;
};

} // namespace ses::agent

#endif // SES_AGENT_LUSTRE_QUESTIONS_H
