#include "table/file_place.h"

#include <sys/xattr.h>

#include <algorithm>
#include <string_view>

#include "lustre/layout.h"
#include "ses/protocol.h"

namespace ses::agent {
namespace {

constexpr size_t kMaxBytes = 65536;

std::string attribute_of(int handle, const char *name) {
  std::string value(kMaxBytes, '\0');
  const std::string file = "/proc/self/fd/" + std::to_string(handle);
  const ssize_t length = getxattr(file.c_str(), name, value.data(), value.size());
  value.resize(static_cast<size_t>(std::max<ssize_t>(length, 0)));
  return value;
}

// Of a layout with several components the first that has objects counts.
std::vector<std::string> targets_in_layout(std::string_view bytes) {
  struct ses_lov layout;
  if (ses_lov_read(&layout, bytes.data(), bytes.size()) != 0) {
    return {};
  }
  struct ses_lov_component component;
  for (unsigned number = 0; ses_lov_component(&layout, number, &component); ++number) {
    if (component.objects > 0 && ses_lov_holds_data_on_osts(&component)) {
      std::vector<std::string> targets{std::to_string(ses_lov_ost(&component, 0))};
      if (*component.pool != '\0') {
        targets.emplace_back(component.pool);
      }
      return targets;
    }
  }
  return {};
}

} // namespace

std::vector<std::string> targets_of_file(uint32_t backend, int handle) {
  switch (backend) {
  case SES_BACKEND_MERGERFS:
    return {attribute_of(handle, "user.mergerfs.basepath")};
  case SES_BACKEND_LUSTRE:
    return targets_in_layout(attribute_of(handle, "lustre.lov"));
  default:
    return {};
  }
}

} // namespace ses::agent
