"""How many files a node may have open and may begin: bounds that a node which tells the truth does not meet.

A node may begin files faster than its rate for as long as it began fewer before: :data:`AVERAGED_OVER`
seconds' worth at once.  What is kept of a node is one number, and only until it could begin as many again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST_OPEN = 65_536  # files of one node; its agent follows no more
AVERAGED_OVER = 600.0  # seconds
_FEW = 1000  # nodes below which nobody is forgotten


@dataclass(slots=True)
class Refusals:
    """Files that were not taken because their node has too many open, or began too many, and the last one."""

    too_many_open: int = 0
    too_fast: int = 0
    node: str = ""
    at: float = -math.inf


class FileBounds:
    """``rate`` is how many files a second a node may begin.  Not safe for use from several threads."""

    def __init__(self, rate: float) -> None:
        self.refusals = Refusals()
        self._rate = rate
        self._paid: dict[str, float] = {}  # when the files of a node would all have come at the rate
        self._many = _FEW

    def refuses(self, node: str, has_open: int, now: float) -> str:
        """Return why a node may not begin another file; empty when it may, and then the file is counted."""
        if has_open >= MOST_OPEN:
            self.refusals.too_many_open += 1
            why = f"The node has {MOST_OPEN} files open, as many as it may."
        elif not self._begins(node, now):
            self.refusals.too_fast += 1
            why = f"The node began {self._rate:g} files a second for long, as many as it may."
        else:
            return ""
        self.refusals.node, self.refusals.at = node, now
        return why

    def _begins(self, node: str, now: float) -> bool:
        paid = max(now, self._paid.get(node, now))
        if paid > now + AVERAGED_OVER:
            return False
        self._paid[node] = paid + 1.0 / self._rate
        if len(self._paid) > self._many:
            self._paid = {name: moment for name, moment in self._paid.items() if moment > now}
            self._many = max(_FEW, 2 * len(self._paid))
        return True
