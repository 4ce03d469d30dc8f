#include "service_messages.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lustre_place.h"

namespace ses::agent {
namespace {

using nlohmann::json;

constexpr size_t kMostPlacements = 1024;

const char *kind_name(uint32_t kind) {
  switch (kind) {
  case SES_KIND_CURRENT_READ_RATE:
    return "current-read-rate";
  case SES_KIND_AVERAGE_READ_RATE:
    return "average-read-rate";
  case SES_KIND_CURRENT_WRITE_RATE:
    return "current-write-rate";
  case SES_KIND_AVERAGE_WRITE_RATE:
    return "average-write-rate";
  default:
    return "free-capacity";
  }
}

// The field as an unsigned number; 0 when it is absent or null.
template <typename T> T number_or_zero(const json &object, const char *name) {
  const auto field = object.find(name);
  if (field == object.end() || field->is_null()) {
    return 0;
  }
  if (!field->is_number_unsigned()) {
    throw std::invalid_argument(name);
  }
  return field->get<T>();
}

Placement parse_placement(const json &object) {
  Placement placement;
  placement.id = parse_id(object.at("placement_id").get<std::string>());
  placement.element = object.at("element").get<std::string>();
  placement.backend = backend_number(object.at("backend").get<std::string>());
  if (placement.backend == SES_BACKEND_MERGERFS) {
    placement.target = absolute_path(object.at("target"));
  }
  placement.distance = object.at("distance").get<double>();
  placement.stripe_count = number_or_zero<uint32_t>(object, "stripe_count");
  placement.stripe_size = number_or_zero<uint64_t>(object, "stripe_size_bytes");
  if (placement.backend == SES_BACKEND_LUSTRE) {
    read_lustre_place(object, placement);
  }
  if (placement.id == 0 || placement.element.empty() || !std::isfinite(placement.distance)) {
    throw std::invalid_argument("placement");
  }
  return placement;
}

} // namespace

std::string booking_body(const BookingRequest &request) {
  json requirements = json::array();
  for (const Requirement &requirement : request.requirements) {
    requirements.push_back({{"kind", kind_name(requirement.kind)},
                            {"minimum", requirement.minimum},
                            {"unit", requirement.kind == SES_KIND_FREE_CAPACITY ? "GB" : "MB/s"},
                            {"weight", requirement.weight},
                            {"strictness", requirement.hard ? "hard" : "soft"}});
  }
  const auto text_or_null = [](const std::string &text) {
    return text.empty() ? json(nullptr) : json(text);
  };
  json body = {
      {"subject",
       {{"user", request.user},
        {"application", text_or_null(request.application)},
        {"node", text_or_null(request.node)}}},
      {"storage_system", request.system},
      {"requirements", std::move(requirements)},
      {"expected_bytes", request.expected_bytes ? json(*request.expected_bytes) : json(nullptr)},
      {"exclude", request.exclude},
      {"count", request.count},
      {"lease_seconds", request.lease_seconds}};
  if (request.ahead) {
    body["ahead"] = true;
  }
  return text_of(body);
}

std::optional<std::vector<Requirement>> parse_resolved(const std::string &body) {
  try {
    std::vector<Requirement> requirements;
    const json reply = json::parse(body);
    for (const json &one : reply.at("selection").at("requirements")) {
      Requirement requirement;
      for (uint32_t kind = SES_KIND_CURRENT_READ_RATE; kind <= SES_KIND_FREE_CAPACITY; ++kind) {
        if (one.at("kind").get<std::string>() == kind_name(kind)) {
          requirement.kind = kind;
        }
      }
      requirement.hard = one.at("strictness").get<std::string>() == "hard";
      requirement.minimum = one.at("minimum").get<double>();
      requirement.weight = one.at("weight").get<double>();
      if (requirement.kind != 0 && std::isfinite(requirement.minimum) && requirement.weight > 0) {
        requirements.push_back(requirement);
      }
    }
    return requirements;
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

std::optional<std::vector<Placement>> parse_placements(const std::string &body) {
  try {
    std::vector<Placement> placements;
    const json reply = json::parse(body);
    for (const json &object : reply.at("placements")) {
      placements.push_back(parse_placement(object));
    }
    if (placements.empty() || placements.size() > kMostPlacements) {
      return std::nullopt;
    }
    return placements;
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

std::optional<std::vector<StorageSystem>> parse_storage_systems(const std::string &body) {
  try {
    std::vector<StorageSystem> systems;
    const json reply = json::parse(body);
    for (const json &object : reply.at("storage_systems")) {
      systems.push_back({object.at("name").get<std::string>(),
                         backend_number(object.at("backend").get<std::string>()),
                         absolute_path(object.at("mount_point"))});
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
