#include "processes/process_look.h"

#include <utility>

namespace ses::agent {

bool ProcessLook::is_of(uid_t uid) {
  if (!owner_) {
    owner_ = owner_of(pid_);
  }
  return *owner_ && **owner_ == uid;
}

ProcessLook::At &ProcessLook::at(int fd) {
  const auto [known, first] = at_.try_emplace(fd);
  if (first) {
    known->second.handle = open_handle(pid_, fd);
    known->second.facts = facts_of(known->second.handle.get());
  }
  return known->second;
}

bool ProcessLook::has_at(int fd, const FileId &file) {
  const auto &facts = at(fd).facts;
  return facts && facts->id == file;
}

UniqueFd ProcessLook::take_at(int fd, const FileId &file) {
  return has_at(fd, file) ? std::move(at(fd).handle) : UniqueFd();
}

bool ProcessLook::has_open(const FileId &file) {
  if (!open_ && !is_unknown_) {
    open_ = open_files_of(pid_);
    is_unknown_ = !open_;
  }
  return is_unknown_ || open_->contains(file);
}

bool ProcessLook::has_moved(const FileId &file) {
  if (!has_open(file) && !std::exchange(looked_twice_, true)) {
    open_->merge(open_files_of(pid_).value_or(std::set<FileId>()));
  }
  return has_open(file);
}

pid_t ProcessLook::child_with(const FileId &file) {
  if (!of_children_) {
    of_children_ = open_files_of_children(pid_);
  }
  const auto child = of_children_->find(file);
  return child == of_children_->end() ? 0 : child->second;
}

const ProcessState &ProcessLook::state() {
  if (!state_ || !state_->exiting) { // it may have ended since
    state_ = state_of(pid_);
  }
  return *state_;
}

// The kernel closes what a process has open before it is gone: one that has something is not.
bool ProcessLook::is_exiting() { return !(open_ && !open_->empty()) && state().exiting; }

const std::string &ProcessLook::job(uid_t uid, const std::optional<std::string> &named,
                                    Jobs &jobs) {
  if (!job_ || job_uid_ != uid || job_named_ != named) {
    job_uid_ = uid;
    job_named_ = named;
    job_ = jobs.job_of(pid_, uid, named);
  }
  return *job_;
}

} // namespace ses::agent
