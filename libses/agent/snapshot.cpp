#include "snapshot.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "service_json.h"
#include "unique_fd.h"

namespace ses::agent {
namespace {

using nlohmann::json;

constexpr size_t kMostElements = 4096;
constexpr size_t kLargestFile = 8u << 20;
constexpr const char *kFile = "/agent.json";

Rates rates_of(const json &object, const char *name) {
  const json *rates = field_of(object, name);
  if (rates == nullptr) {
    return {};
  }
  return {number_field(*rates, "read_mb_s"), number_field(*rates, "write_mb_s")};
}

ElementSnapshot element_of(const json &object) {
  ElementSnapshot element;
  element.element = object.at("element").get<std::string>();
  element.system = object.at("storage_system").get<std::string>();
  element.backend = backend_number(object.at("backend").get<std::string>());
  element.target = element.backend == SES_BACKEND_MERGERFS ? absolute_path(object.at("target"))
                                                           : text_field(object, "target");
  element.state = object.at("state").get<std::string>();
  element.capability = rates_of(object, "capability");
  element.available = rates_of(object, "available");
  element.free_gb = number_field(object, "free_gb");
  if (element.element.empty()) {
    throw std::invalid_argument("element");
  }
  return element;
}

} // namespace

std::optional<Snapshot> parse_snapshot(const std::string &text) {
  try {
    const json object = json::parse(text);
    Snapshot snapshot;
    snapshot.decided_at = object.at("decided_at").get<double>();
    snapshot.elements_total = object.at("elements_total").get<size_t>();
    snapshot.arrival_rate = std::max(0.0, number_field(object, "arrival_rate").value_or(0));
    const json &elements = object.at("elements");
    if (!std::isfinite(snapshot.decided_at) || elements.size() > kMostElements) {
      return std::nullopt;
    }
    for (const json &element : elements) {
      snapshot.elements.push_back(element_of(element));
    }
    return snapshot;
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

KeptFacts read_kept(const std::string &directory) {
  const UniqueFd file(open((directory + kFile).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != geteuid() || (status.st_mode & 022) != 0 ||
      static_cast<size_t>(status.st_size) > kLargestFile) {
    return {};
  }
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const ssize_t length = read(file.get(), text.data(), text.size());
  text.resize(length > 0 ? static_cast<size_t>(length) : 0);
  try {
    const json object = json::parse(text);
    return {text_field(object, "systems"), text_field(object, "snapshot")};
  } catch (const std::exception &) {
    return {};
  }
}

std::string write_kept(const std::string &directory, const KeptFacts &facts) {
  const std::string path = directory + kFile, other = path + ".tmp";
  const std::string text = text_of({{"systems", facts.systems}, {"snapshot", facts.snapshot}});
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    return directory + ": " + std::strerror(errno);
  }
  unlink(other.c_str());
  const UniqueFd file(
      open(other.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      rename(other.c_str(), path.c_str()) != 0) {
    const std::string why = path + ": " + std::strerror(errno);
    unlink(other.c_str());
    return why;
  }
  return "";
}

} // namespace ses::agent
