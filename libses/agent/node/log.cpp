#include "node/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "system/visible.h"

namespace ses::agent {
namespace {

class VisibleMessage final : public spdlog::custom_flag_formatter {
public:
  void format(const spdlog::details::log_msg &message, const std::tm & /*time*/,
              spdlog::memory_buf_t &line) override {
    const std::string text = visible({message.payload.data(), message.payload.size()});
    line.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<VisibleMessage>();
  }
};

} // namespace

void log_to_stderr(const std::string &level) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<VisibleMessage>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l: %*");
  const auto logger = spdlog::stderr_logger_mt("ses-agent");
  logger->set_formatter(std::move(formatter));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(logger);
  spdlog::set_level(spdlog::level::from_str(level));
}

} // namespace ses::agent
