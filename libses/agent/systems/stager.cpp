#include "systems/stager.h"

#include <spdlog/spdlog.h>
#include <sys/eventfd.h>

#include <utility>

#include "node/heartbeat.h"
#include "node/may_hang.h"
#include "protocol/wire.h"
#include "systems/stage.h"

namespace ses::agent {
namespace {

PreparedStage prepare(const std::string &target, dev_t device, uid_t uid) {
  auto prepared =
      ask_storage(device, [target, device, uid] { return prepare_stage(target, device, uid); });
  return prepared ? std::move(*prepared) : PreparedStage{"does not answer"};
}

void remove(const std::string &target, dev_t device, uid_t uid) {
  (void)ask_storage(device, [target, device, uid] {
    remove_stage(target, device, uid);
    return true;
  });
}

} // namespace

Stager::Stager(const UnionHealth &unions, std::function<void(const std::string &)> in_use)
    : unions_(unions), in_use_(std::move(in_use)), ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { work(); }) {}

Stager::~Stager() { stop(); }

void Stager::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Stager::request(uid_t uid, const Branch &branch, bool first) {
  add({uid, branch, false}, first);
}

void Stager::remove(uid_t uid, const Branch &branch) { add({uid, branch, true}, false); }

void Stager::add(const Request &request, bool first) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.insert(first ? waiting_.begin() : waiting_.end(), request);
  }
  wake_.notify_one();
}

std::vector<Stager::Result> Stager::take() {
  eventfd_t count = 0;
  (void)eventfd_read(ready_.get(), &count);
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

void Stager::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) {
      return;
    }
    const Turn turn(Duty::kStager);
    const auto [uid, branch, removes] = std::move(waiting_.front());
    const std::string &target = branch.target;
    waiting_.pop_front();
    lock.unlock();
    const Union seen = unions_.seen(branch.mount_point);
    std::string why = trouble_of(seen, branch.mount_point, {target, branch.file_system});
    PreparedStage stage{std::move(why)};
    if (removes) {
      if (stage.why.empty()) {
        agent::remove(target, seen.branches.at(target).device, uid);
      }
      lock.lock();
      continue;
    }
    if (stage.why.empty()) {
      stage = prepare(target, seen.branches.at(target).device, uid);
    }
    if (stage.why.empty() &&
        !watch_.add(stage.top.get(), seen.branches.at(target).device, target)) {
      stage.why = "its staging directory was moved";
    }
    if (stage.why.empty()) {
      in_use_(target);
      in_trouble_.erase(target);
    } else if (in_trouble_.insert(target).second) {
      spdlog::warn("branch {} is not used for uid {} now: {}", target, uid, stage.why);
    }
    lock.lock();
    results_.push_back({uid, target, std::move(stage.why), stage.is_made});
    if (waiting_.empty() || results_.size() == 1) {
      eventfd_write(ready_.get(), 1);
    }
  }
}

} // namespace ses::agent
