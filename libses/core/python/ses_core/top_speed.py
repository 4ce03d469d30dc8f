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

import numpy as np
from numpy.typing import NDArray

Parts = NDArray[np.float64]

LOWEST = 0.05
FALL, RECOVERY = 0.1, 0.01  # parts by which it moves in a sample
SOUND = 0.75  # from which an element counts as it is described
ALIKE = 0.1  # another rate is told when it differs by a larger part


def after_sample(before: Parts, utilisation: Parts, queue: Parts, saturation: float) -> Parts:
    """Return the top speeds after one more sample, 0.05 to 1.

    ``before`` are those before it, ``utilisation`` the measured rates as a part of the described ones and
    ``queue`` the mean queue (``nan``: not known, of either).  With a queue of ``saturation`` or
    more: ``max(u, 0.9 before)``; else ``max(u, 1.01 before)``.
    """
    seen = np.where(np.isnan(utilisation), 0.0, utilisation)
    queued = ~np.isnan(utilisation) & (queue >= saturation)
    kept = before * np.where(queued, 1.0 - FALL, 1.0 + RECOVERY)
    return np.clip(np.maximum(seen, kept), LOWEST, 1.0)


def health(top: Parts) -> Parts:
    """Return the part of what is described that may be expected: that of a sound element is 1."""
    return np.where(top < SOUND, top, 1.0)
