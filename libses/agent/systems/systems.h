// Which storage system a device number belongs to.
//
// Any thread.  A system is known by the device of what is mounted at its mount point, read from
// /proc/self/mountinfo: nothing here touches a file system that may hang, and an unmounted mount
// point never makes the file system below it look managed.  Of a Lustre every mount counts, also of
// a part of it (fileset) somewhere else, for each is a device of its own.
#ifndef SES_AGENT_SYSTEMS_H
#define SES_AGENT_SYSTEMS_H

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/unique_fd.h"
#include "service/messages.h"

namespace ses::agent {

class Systems {
public:
  enum class Answer { kManaged, kNotManaged, kNotKnownYet };

  Systems();

  // The systems the service names now.  True when the mounted ones have changed, as far as is
  // known; so does the next.
  bool describe(std::vector<StorageSystem> systems);
  // Reads the mounts again.
  bool reread_mounts();
  // Reports POLLPRI when the mounts changed; read by poll(2) only.
  [[nodiscard]] int mounts_descriptor() const { return mountinfo_.get(); }

  // kNotKnownYet until the service has named its systems once.  SYSTEM is set for kManaged.
  [[nodiscard]] Answer find(dev_t device, StorageSystem &system) const;

  // DEVICE is where the system NAME is mounted.
  [[nodiscard]] bool is_on(dev_t device, const std::string &name) const;

  // Those of BACKEND (enum ses_backend) that are mounted now.
  [[nodiscard]] std::vector<StorageSystem> mounted(uint32_t backend) const;

  // All that are mounted now, with their devices.
  [[nodiscard]] std::vector<std::pair<dev_t, StorageSystem>> all_mounted() const;

  // Where the system is mounted; empty when there is no such system now.
  [[nodiscard]] std::string mount_point_of(const std::string &name) const;

private:
  bool match(const std::string &mountinfo);

  const UniqueFd mountinfo_;
  mutable std::mutex mutex_;
  bool described_ = false;
  std::vector<StorageSystem> systems_;
  std::map<dev_t, StorageSystem> by_device_;
};

} // namespace ses::agent

#endif // SES_AGENT_SYSTEMS_H
