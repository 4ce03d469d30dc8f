#include "lustre/questions.h"

#include <system_error>
#include <thread>

namespace ses::agent {

void LustreQuestions::take_answer(About &about, Time now) {
  if (!about.question) {
    return;
  }
  if (about.question->answered) {
    about.trouble = about.question->answer;
    about.question.reset();
  } else if (now - about.asked_at >= pace_.limit && about.question->at_server) {
    about.trouble = "its server does not answer";
  }
}

bool LustreQuestions::go_on(const std::set<uint16_t> &unknown, const Ask &ask, Time now) {
  size_t hanging = 0;
  About *next = nullptr;
  uint16_t ost = 0;
  for (auto it = asked_.begin(); it != asked_.end();) {
    auto &[index, about] = *it;
    take_answer(about, now);
    hanging += about.question ? 1 : 0;
    const bool in_use = about.used_at != Time::min() && now - about.used_at < pace_.in_use;
    if (!unknown.contains(index) && !about.question) {
      about.trouble.clear();
    }
    if (!in_use && !about.question && about.trouble.empty()) {
      it = asked_.erase(it);
      continue;
    }
    if (!about.question && unknown.contains(index) &&
        (next == nullptr || about.asked_at < next->asked_at)) {
      next = &about;
      ost = index;
    }
    ++it;
  }
  if (next == nullptr || hanging >= kHanging ||
      (last_ != Time::min() && now - last_ < pace_.every)) {
    return false;
  }
  auto question = std::make_shared<Question>();
  try {
    std::thread([question, ask, ost] {
      question->answer = ask(ost, question->at_server);
      question->answered = true;
    }).detach();
  } catch (const std::system_error &) { // no thread to be had: later
    return false;
  }
  next->question = std::move(question);
  next->asked_at = last_ = now;
  return true;
}

std::map<uint16_t, std::string> LustreQuestions::troubled() const {
  std::map<uint16_t, std::string> troubles;
  for (const auto &[index, about] : asked_) {
    if (!about.trouble.empty()) {
      troubles.emplace(index, about.trouble);
    }
  }
  return troubles;
}

} // namespace ses::agent
