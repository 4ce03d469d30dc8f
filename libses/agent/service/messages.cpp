#include "service/messages.h"

#include <nlohmann/json.hpp>

namespace ses::agent {

using nlohmann::json;

std::optional<std::vector<StorageSystem>> parse_storage_systems(const std::string &body) {
  try {
    std::vector<StorageSystem> systems;
    const json reply = json::parse(body);
    for (const json &object : reply.at("storage_systems")) {
      const uint32_t backend = backend_number(object.at("backend").get<std::string>());
      if (backend !=
          SES_BACKEND_NONE) { // no files are placed on others, such as sets of directories
        systems.push_back({object.at("name").get<std::string>(), backend,
                           absolute_path(object.at("mount_point"))});
      }
    }
    return systems;
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

std::string problem_detail(const std::string &body) {
  try {
    const json problem = json::parse(body);
    std::string text = problem.value("detail", problem.value("title", std::string()));
    text.resize(std::min<size_t>(text.size(), 300));
    return printable(text);
  } catch (const std::exception &) {
    return "";
  }
}

} // namespace ses::agent
