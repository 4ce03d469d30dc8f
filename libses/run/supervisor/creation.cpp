#include "creation.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "call.h"
#include "host_directory.h"
#include "impersonation.h"

extern "C" {
#include "backends/backend.h"
#include "log/log.h"
#include "place/place.h"
#include "settings/settings.h"
}

namespace ses::run {
namespace {

constexpr size_t kPathShown = 256; // of a path in a line of the log

Descriptor resolve(int base, const char *path, uint64_t how_far) {
  open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_MAGICLINKS | how_far; // those below /proc/self would be our own
  return Descriptor(static_cast<int>(syscall(SYS_openat2, base, path, &how, sizeof how)));
}

bool is_managed(int directory) {
  struct statfs status {};
  return fstatfs(directory, &status) == 0 &&
         ses_backend_of(static_cast<unsigned long>(status.f_type)) != nullptr;
}

bool is_there(int directory, const char *name, struct statx &status) {
  return statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status) == 0;
}

bool is_absent(int directory, const char *name) {
  struct statx status {};
  return !is_there(directory, name, status) && errno == ENOENT;
}

// Does the call want the file itself, and no descriptor of it?
bool is_node(const CreateCall &call) { return (call.flags & SES_PLACE_NODE) != 0; }

// The call does not get the file of FD: a file of that NAME would surprise it.
void take_back(int directory, const char *name, int fd) {
  struct statx named {};
  struct statx created {};
  if (is_there(directory, name, named) &&
      statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &created) == 0 &&
      named.stx_ino == created.stx_ino && named.stx_dev_major == created.stx_dev_major &&
      named.stx_dev_minor == created.stx_dev_minor && named.stx_size == 0) {
    unlinkat(directory, name, 0);
  }
}

// FILE again, by the caller's own mount of it: what a process can see of its descriptors names
// that.
Descriptor open_same(int directory, const char *name, int flags, int file) {
  constexpr int kOfCreates = O_CREAT | O_EXCL | O_TRUNC;
  Descriptor opened(openat(directory, name, (flags & ~kOfCreates) | O_NOFOLLOW | O_CLOEXEC));
  struct stat opened_status {};
  struct stat file_status {};
  const bool is_same =
      opened && fstat(opened.get(), &opened_status) == 0 && fstat(file, &file_status) == 0 &&
      opened_status.st_ino == file_status.st_ino && opened_status.st_dev == file_status.st_dev;
  return is_same ? std::move(opened) : Descriptor();
}

} // namespace

// Where a call wants its file.
struct Creator::Place {
  explicit Place(const seccomp_notif &notification)
      : caller(static_cast<pid_t>(notification.pid)) {}

  Caller caller;
  CreateCall call{};
  char path[PATH_MAX] = {};
  const char *name = path;           // in it
  std::string whole;                 // from the caller's root; of a container from our own
  Descriptor directory;              // as the caller reaches it
  std::optional<HostDirectory> host; // the same, by our own mount
  Status status;
  std::optional<Impersonation> as_caller;

  bool split(const char *&parent);
  bool enter(const Identity &own);
  // Lets go of the directory.
  void leave() {
    directory = Descriptor();
    host.reset();
  }
  [[nodiscard]] int at() const { return (host ? host->directory : directory).get(); }
};

// The directory's part of the path into PARENT, which may be in PATH or a constant.
bool Creator::Place::split(const char *&parent) {
  char *slash = std::strrchr(path, '/');
  name = slash != nullptr ? slash + 1 : path;
  if (*name == '\0' || std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) {
    return false;
  }
  if (slash == nullptr) {
    parent = ".";
  } else if (slash == path) {
    parent = "/";
  } else {
    *slash = '\0';
    parent = path;
  }
  return true;
}

// Finds the directory as the caller would.
bool Creator::Place::enter(const Identity &own) {
  const std::string given = path;
  const char *parent = nullptr;
  if (!split(parent)) {
    return false;
  }
  const bool absolute = *parent == '/';
  const bool shares_root = caller.shares_root();
  const Descriptor base = absolute ? caller.root() : caller.directory(call.dirfd);
  const uint64_t how_far = shares_root ? 0 : absolute ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
  directory = base ? resolve(base.get(), parent, how_far) : Descriptor();
  if (!directory || !is_managed(directory.get()) || !caller.shares_label() ||
      !caller.read_status(status)) {
    return false;
  }
  if (caller.shares_mounts()) {
    whole = caller.whole_path(call.dirfd, given, directory.get(), name);
  } else if ((host = find_host_directory(directory.get(), caller.mounts()))) {
    whole = host->path + "/" + name;
  }
  as_caller.emplace(own, status.identity, caller.shares_users());
  if (whole.empty() || !*as_caller) { // without a path no rule can be applied
    return false;
  }
  if (status.identity != own) { // may the caller go there?
    directory = resolve(base.get(), parent, how_far);
  }
  return static_cast<bool>(directory);
}

Creator::Creator(const Listener &listener, SharedCalls &calls)
    : listener_(listener), calls_(calls) {
  Status status;
  if (Caller(static_cast<pid_t>(syscall(SYS_gettid))).read_status(status)) {
    own_ = status.identity;
  } else {
    own_.capabilities = "unknown"; // equals nobody's
    own_.effective_uid = static_cast<uid_t>(-1);
  }
}

bool Creator::find_place(Place &place, const Slot &slot) const {
  const auto call = read_call(slot.call, place.caller);
  if (!call || !place.caller.read_path(call->path, place.path)) {
    return false;
  }
  place.call = *call;
  return place.enter(own_) && listener_.waits(slot.call.id);
}

bool Creator::create(Slot &slot) const {
  Place place(slot.call);
  if (!find_place(place, slot)) {
    return false;
  }
  const int directory = place.at();
  if (((place.call.flags & O_EXCL) != 0 && !is_absent(directory, place.name)) ||
      !claim(slot, slot.call.id, Phase::kCreating)) {
    return false;
  }
  const bool is_named = ses_settings()->is_named;
  const std::string name = is_named ? "" : place.caller.short_name();
  ses_need need = {};
  need.program = is_named ? nullptr : name.c_str();
  need.application = is_named || name.size() < SES_APPLICATION_MAX ? need.program : "";
  need.whole = place.whole.c_str();
  need.expected_bytes = -1;
  need.holder = place.status.process;
  umask(place.status.umask);
  Descriptor file(
      ses_place_open(directory, place.name, place.call.flags, place.call.mode, &need, nullptr));
  if (!file) {
    return false;
  }
  Descriptor theirs;
  const bool is_elsewhere = place.host && !is_node(place.call);
  if (is_elsewhere) {
    theirs = open_same(place.directory.get(), place.name, place.call.flags, file.get());
  }
  const int number = give(slot, place, (is_elsewhere ? theirs : file).get());
  if (number < 0) {
    take_back(directory, place.name, file.get());
    return false;
  }
  theirs = Descriptor();
  file = Descriptor();
  place.leave();
  listener_.answer(slot.call.id, number);
  return true;
}

int Creator::give(Slot &slot, const Place &place, int file) const {
  struct stat created {};
  const uint64_t id = slot.call.id;
  if (fstat(file, &created) != 0) {
    return -1;
  }
  slot.device = created.st_dev;
  slot.inode = created.st_ino;
  slot.state = state_of(id, Phase::kGiving);
  return is_node(place.call) ? 0 : listener_.add(id, file, (place.call.flags & O_CLOEXEC) != 0);
}

bool Creator::refuse(const Slot &slot) const {
  const bool refused = is_for_tracer(slot.call);
  if (refused) {
    listener_.refuse(slot.call.id, EINVAL);
  }
  return refused;
}

void Creator::answer(Slot &slot) const {
  const uint64_t id = slot.call.id;
  if (is_confining(slot.call)) {
    calls_.confined = true;
  }
  if (!claim(slot, id, Phase::kOpen)) {
    return;
  }
  const bool done = refuse(slot) || (!calls_.confined && create(slot));
  // What the watchdog has answered meanwhile is no longer there.
  if (!done) {
    listener_.let_go_on(id);
  }
}

void Creator::leave(const Slot &slot, uint64_t id) const {
  std::string line;
  if (ses_log_is_on()) {
    const Caller caller(static_cast<pid_t>(slot.call.pid));
    const auto call = read_call(slot.call, caller);
    char path[PATH_MAX] = {};
    if (call && caller.read_path(call->path, path) && id_in(slot) == id) {
      line = std::string(path).substr(0, kPathShown) +
             ": plain: the supervisor did not come to it in time";
    }
  }
  listener_.let_go_on(id);
  if (!line.empty()) { // after the answer: the caller does not wait for the log
    ses_log_note(line.c_str(), "");
  }
}

bool Creator::give_any(Slot &slot) const {
  Place place(slot.call);
  if (!find_place(place, slot) || (place.call.flags & O_EXCL) == 0) {
    return false;
  }
  umask(place.status.umask);
  const int flags = (place.call.flags & ~(O_EXCL | SES_PLACE_NODE)) | O_NOFOLLOW;
  Descriptor file(openat(place.directory.get(), place.name, flags, place.call.mode));
  struct stat status {};
  const bool is_its = file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                      status.st_size == 0 && status.st_uid == place.status.identity.fs_uid;
  const int number = is_its ? give(slot, place, file.get()) : -1;
  if (number < 0) {
    return false;
  }
  file = Descriptor();
  place.leave();
  listener_.answer(slot.call.id, number);
  return true;
}

bool Creator::give_given(const Slot &slot) const {
  const Caller caller(static_cast<pid_t>(slot.call.pid));
  const auto call = read_call(slot.call, caller);
  const int number = call && is_node(*call) ? 0 : caller.find_descriptor(slot.device, slot.inode);
  if (number >= 0) {
    listener_.answer(slot.call.id, number);
  }
  return number >= 0;
}

void Creator::finish(Slot &slot) const {
  const uint64_t id = id_in(slot);
  if (id == 0) {
    return;
  }
  if (is_confining(slot.call)) {
    calls_.confined = true;
  }
  const uint64_t state = slot.state;
  const Phase phase = is_about(state, id) ? phase_of(state) : Phase::kOpen;
  bool done = refuse(slot) || (phase == Phase::kGiving && listener_.waits(id) && give_given(slot));
  done = done || ((phase == Phase::kCreating || phase == Phase::kGiving) && listener_.waits(id) &&
                  give_any(slot));
  if (!done) {
    leave(slot, id);
  }
}

} // namespace ses::run
