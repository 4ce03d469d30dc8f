"""The top speeds that the observations of all elements teach; the rule is :mod:`ses_core.top_speed`."""

from dataclasses import replace

import numpy as np
from ses_core import top_speed

from ses_service.model.columns import ObservationTable, seen_to_give
from ses_service.model.policies import Policies


def learned(
    observations: ObservationTable, before: ObservationTable | None, policies: Policies
) -> ObservationTable:
    """Return the observations with the top speeds and largest rates that they, and those before, teach.

    ``before`` must have the same rows; without it every element begins as described.  An observation
    that is no later than the one before it teaches nothing.
    """
    if before is None:
        return observations
    observations = seen_to_give(
        observations,
        np.fmax(observations.most_read, before.most_read),
        np.fmax(observations.most_write, before.most_write),
    )
    later = observations.sampled_at > before.sampled_at
    top = top_speed.after_sample(
        before.top_speed, observations.utilisation, observations.queue_depth, policies.saturation
    )
    top = np.where(later, top, before.top_speed)
    return replace(observations, top_speed=top, health=top_speed.health(top))
