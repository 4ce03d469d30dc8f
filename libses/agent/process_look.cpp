#include "process_look.h"

#include <utility>

#include "identity.h"

namespace ses::agent {

bool ProcessLook::is_of(uid_t uid) {
  if (!owner_) {
    owner_ = owner_of(pid_);
  }
  return *owner_ && **owner_ == uid;
}

bool ProcessLook::has_at(int fd, const FileId &file) {
  const auto [known, first] = at_.try_emplace(fd);
  if (first) {
    known->second = file_at(pid_, fd);
  }
  return known->second && *known->second == file;
}

bool ProcessLook::has_open(const FileId &file) {
  if (!open_) {
    open_ = open_files_of(pid_);
  }
  return open_->contains(file);
}

bool ProcessLook::has_moved(const FileId &file) {
  if (!has_open(file) && !std::exchange(looked_twice_, true)) {
    open_->merge(open_files_of(pid_));
  }
  return open_->contains(file);
}

pid_t ProcessLook::child_with(const FileId &file) {
  if (!of_children_) {
    of_children_ = open_files_of_children(pid_);
  }
  const auto found = of_children_->find(file);
  return found == of_children_->end() ? 0 : found->second;
}

const ProcessState &ProcessLook::state() {
  if (!state_) {
    state_ = state_of(pid_);
  }
  return *state_;
}

const std::string &ProcessLook::job() {
  if (!job_) {
    job_ = job_of(pid_);
  }
  return *job_;
}

} // namespace ses::agent
