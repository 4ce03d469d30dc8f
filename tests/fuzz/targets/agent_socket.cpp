// Messages of programs to the agent, and the texts of the kernel in which a user chooses words:
// names of mounts, branches, processes.
#include <cstring>
#include <span>
#include <string>

#include "must.h"
#include "node/mountinfo.h"
#include "processes/jobs.h"
#include "protocol/wire.h"
#include "rates/process_io.h"
#include "ses/limits.h"
#include "systems/systems.h"
#include "systems/union_reading.h"

using namespace ses::agent;

namespace {

void check(const Ask &ask) {
  MUST(ask.application.size() < SES_APPLICATION_MAX);
  MUST(printable(ask.application) == ask.application && printable(ask.pool) == ask.pool);
  MUST(ask.rank.ranks == 0 || ask.rank.rank < ask.rank.ranks);
  for (const Requirement &requirement : ask.requirements) {
    const double most =
        requirement.kind == SES_KIND_FREE_CAPACITY ? SES_CAPACITY_MAX : SES_RATE_MAX;
    MUST(requirement.minimum >= 0 && requirement.minimum <= most); // a NaN is neither
    MUST(requirement.weight > 0 && requirement.weight <= SES_WEIGHT_MAX);
  }
  Placement placement;
  placement.element = "union/b1";
  placement.target = ask.application; // anything that fits
  placement.pool = ask.pool;
  (void)make_place_answer(placement, ask.stripe_count, ask.stripe_size);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto message = std::as_bytes(std::span(data, size));
  if (const auto ask = parse_ask(message)) {
    check(*ask);
  }
  (void)parse_report(message);
  const std::string text(reinterpret_cast<const char *>(data), size);
  (void)parse_mountinfo(text);
  (void)parse_union(text, text, text);
  (void)parse_job(text);
  if (const auto job = job_in(text, 1000)) {
    MUST(job->empty() || sensible_job(*job) == *job);
  }
  (void)parse_descriptor_info(text);
  (void)parse_process_bytes(text);
  return 0;
}
