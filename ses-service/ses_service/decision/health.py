"""What an element really does, as a part of what its description promises.

An element that is slower than described looks idle after every file and is chosen again and again.
Its rate gives it away, but only where it surely had enough to do: a low rate alone means that nobody
asked for more, and elements judged by that would be lost for ever.  So the top speed is lowered only
by samples with a queue, by a tenth per sample at most, follows any higher rate at once, and comes back
by itself while there is no queue to learn from.

A queue that is not visible teaches nothing.  The queue is the mean over a sample's window: where work
comes in short bursts (write-back of a page cache) a sound element can look slow until it is next kept
busy for a whole window.  Small requests make an element slow, too, and are rightly seen as that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ses_service.model.columns import Floats, ObservationTable
from ses_service.model.policies import Policies

LOWEST = 0.05


def top_speed(before: Floats, utilisation: Floats, queue_depth: Floats, policies: Policies) -> Floats:
    """Return the top speeds after one more sample, 0.05 to 1.

    ``before`` are those before it, ``utilisation`` the measured rates as a part of the nominal ones and
    ``queue_depth`` the mean queue (``nan``: not known, of either).  With a queue of ``saturation`` or
    more: ``max(u, 0.9 before)``; else ``max(u, 1.01 before)``.
    """
    seen = np.where(np.isnan(utilisation), 0.0, utilisation)
    queued = ~np.isnan(utilisation) & (queue_depth >= policies.saturation)
    kept = before * np.where(queued, 1.0 - policies.health_fall, 1.0 + policies.health_recovery)
    return np.clip(np.maximum(seen, kept), LOWEST, 1.0)


def learned(
    observations: ObservationTable, before: ObservationTable | None, policies: Policies
) -> ObservationTable:
    """Return the observations with the top speeds that they, and those before them, teach.

    ``before`` must have the same rows; without it every element begins as described.  An observation
    that is no later than the one before it teaches nothing.
    """
    if before is None:
        return observations
    later = observations.sampled_at > before.sampled_at
    top = top_speed(before.top_speed, observations.utilisation, observations.queue_depth, policies)
    top = np.where(later, top, before.top_speed)
    return replace(observations, top_speed=top, health=np.where(top < policies.sound_speed, top, 1.0))
