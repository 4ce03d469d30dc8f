/* What limits a streaming program on a node; see ses/stream.h for the formulas. */
#include <stdbool.h>

#include "number.h"
#include "ses/stream.h"

static double carried(const ses_stream_crossings *bus, const ses_stream_profile *profile) {
  return bus->stream + bus->local * profile->beta_l + bus->distant * profile->beta_d;
}

/* Seconds of a resource for one byte of the stream; none where its rate is not known. */
static double seconds_of(double needed, double rate) {
  if (!is_number(rate))
    return 0.0;
  if (rate > 0)
    return needed / rate;
  return needed > 0 ? __builtin_inf() : 0.0;
}

static double rate_of(double seconds) { return seconds > 0 ? 1 / seconds : __builtin_inf(); }

static bool is_sound(const ses_stream_profile *profile) {
  return profile->alpha >= 0 && profile->beta_l >= 0 && profile->beta_d >= 0 && profile->gamma >= 0;
}

int ses_stream_bound(const ses_stream_node *node, const ses_stream_profile *profile,
                     const ses_stream_path *path, ses_stream_limits *limits) {
  *limits = (ses_stream_limits){.rate = 0};
  if (!is_sound(profile))
    return -1;
  double *needed = limits->needed;
  needed[SES_STREAM_DISK] = carried(&path->disk, profile);
  needed[SES_STREAM_IO_BUS] = carried(&path->io_bus, profile);
  needed[SES_STREAM_MEMORY_BUS] = profile->alpha + carried(&path->memory_bus, profile);
  needed[SES_STREAM_PROCESSOR] = profile->gamma;
  needed[SES_STREAM_LINK] = carried(&path->link, profile);
  const double has[SES_STREAM_RESOURCES] = {
      [SES_STREAM_DISK] = node->disk,
      [SES_STREAM_IO_BUS] = node->io_bus,
      [SES_STREAM_MEMORY_BUS] = node->memory_bus,
      [SES_STREAM_PROCESSOR] = node->processor,
      [SES_STREAM_LINK] = node->link,
  };
  double longest = 0, in_turn = 0;
  for (int resource = 0; resource < SES_STREAM_RESOURCES; resource++) {
    double seconds = seconds_of(needed[resource], has[resource]);
    if (resource == SES_STREAM_PROCESSOR)
      seconds += seconds_of(carried(&path->copies, profile), node->copy_rate);
    if (resource != SES_STREAM_IO_BUS && resource != SES_STREAM_MEMORY_BUS)
      in_turn += seconds; /* the buses carry what goes on meanwhile */
    if (resource == 0 || seconds > longest) {
      longest = seconds;
      limits->binding = resource;
    }
    limits->allowed[resource] = rate_of(seconds);
  }
  limits->rate = rate_of(profile->in_turn ? larger(longest, in_turn) : longest);
  return 0;
}
