#include "plan_entries.h"

#include <algorithm>

#include "ses/plan.h"

namespace ses::agent {

Asked subject_of(const PlanEntry &entry) {
  return {entry.application, entry.system, entry.requirements};
}

std::vector<PlanEntry> entries_for(const std::vector<std::pair<dev_t, StorageSystem>> &systems,
                                   std::set<std::string> needed, bool all_known,
                                   const std::vector<Asked> &asked) {
  std::vector<PlanEntry> entries;
  const auto add = [&](const std::string &application, dev_t device, const StorageSystem &system,
                       const std::vector<Requirement> &stated = {}) {
    entries.push_back({application, system.name, system.mount_point, device, stated});
  };
  std::erase_if(needed, [](const std::string &name) {
    return name.empty() || name.size() >= SES_APPLICATION_MAX; // no program can have such a name
  });
  std::vector<std::pair<dev_t, StorageSystem>> usable = systems;
  std::erase_if(usable, [](const auto &one) {
    return one.second.backend != SES_BACKEND_MERGERFS && one.second.backend != SES_BACKEND_LUSTRE;
  });
  for (const auto &[device, system] : usable) {
    const bool all_fit = entries.size() + needed.size() < SES_PLAN_ENTRIES;
    for (const std::string &application : needed) {
      add(application, device, system);
    }
    if (all_fit && all_known) {
      add("", device, system);
    }
  }
  for (const auto &[application, name, stated] : asked) {
    for (const auto &[device, system] : usable) {
      if (system.name == name && (!stated.empty() || !needed.contains(application))) {
        add(application, device, system, stated);
      }
    }
  }
  entries.resize(std::min<size_t>(entries.size(), SES_PLAN_ENTRIES));
  return entries;
}

} // namespace ses::agent
