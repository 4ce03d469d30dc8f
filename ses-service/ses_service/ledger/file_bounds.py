"""What a node may report: bounds that a node which reports the truth does not meet.

How they work is said in ``libses/state/bounds.h``.
"""

import math
from dataclasses import dataclass

from ses_state import _state

MAX_OPEN = 65_536  # files of one node; its agent follows no more
AVERAGED_OVER = 600.0  # seconds


@dataclass(slots=True)
class Refusals:
    """Files that were not taken because their node has too many open, or began too many, and the last one.

    ``invalid``: what was reported of them cannot be right.
    """

    too_many_open: int = 0
    too_fast: int = 0
    invalid: int = 0
    node: str = ""
    at: float = -math.inf


_state.use_classes({"Refusals": Refusals})


class FileBounds(_state.FileBounds):
    """``rate`` is how many files a second a node may begin.  Not safe for use from several threads."""

    def __init__(self, rate: float) -> None:
        super().__init__(rate, MAX_OPEN, AVERAGED_OVER)
