#include "server/placement_reports.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <climits>
#include <utility>

#include "claims/lookup.h"
#include "processes/identity.h"
#include "processes/proc_files.h"

namespace ses::agent {

void PlacementReports::take(const Connection &connection, const Placement &placement,
                            const Report &report, UniqueFd handle) {
  if (report.created) {
    created(connection, placement, report, std::move(handle));
    return;
  }
  unused(placement);
  if (is_of_element(report.error)) {
    parts_.claims.failed(connection.peer.uid, placement.target, report.error,
                         std::chrono::steady_clock::now());
  }
}

// HANDLE, or else one to what the program has open now: it goes on while this runs and may close
// the file within microseconds.
void PlacementReports::created(const Connection &connection, const Placement &placement,
                               const Report &report, UniqueFd handle) {
  PlacedFile file;
  file.placement_id = placement.id;
  file.uid = connection.peer.uid;
  file.pid = connection.peer.pid;
  if (report.fd < -1 && report.fd > INT_MIN && is_process_of(-report.fd, file.uid)) {
    file.maker = file.pid;
    file.pid = -report.fd;
  }
  file.id = FileId{static_cast<dev_t>(report.device), report.inode};
  file.application = connection.ask.application;
  file.origin = placement.origin;
  file.choice = placement.choice;
  if (file.id.device != connection.ask.device) {
    spdlog::debug("uid {} reported a file on another device than it asked about", file.uid);
    unused(placement);
    return;
  }
  // Anybody can have an O_PATH descriptor of a file they may not read, so one that was sent has to
  // be of the sender's own file; one found in the process has been opened for something.
  const auto sent = facts_of(handle.get());
  if (!sent || sent->id != file.id || !sent->regular ||
      (file.uid != 0 && sent->owner != file.uid)) {
    handle = open_handle(file.pid, report.fd);
    const auto facts = facts_of(handle.get());
    if (!facts || facts->id != file.id || !facts->regular) {
      handle.reset();
    }
  }
  if (handle) {
    file.path = path_of(handle.get());
    file.handle = std::move(handle);
    StorageSystem system;
    if (parts_.systems.find(file.id.device, system) == Systems::Answer::kManaged) {
      parts_.finder.learn(system.mount_point, file.path);
    }
  }
  parts_.watcher.watch(std::move(file));
}

} // namespace ses::agent
