"""Which requirements were met: how many files got the rate that was asked for, on average over their time.

A mean over all files can hide that one user never gets what was asked for, so the worst user counts as well,
and the worst VO: here those who ask for the same rate.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

NEARLY = 0.8  # of what was asked for
_ROUNDED = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Attainment:
    """Parts of the files that asked for a rate, 0..1; ``nan`` where none did.

    ``met`` got it, ``nearly`` at least four fifths of it; ``worst_user`` and ``worst_vo`` are the part that
    got it of the user, and of the VO, for whom that is least.
    """

    met: float = math.nan
    nearly: float = math.nan
    worst_user: float = math.nan
    worst_vo: float = math.nan


@dataclass(slots=True)
class Attained:
    """Takes note of files as they end."""

    _reached: list[float] = field(default_factory=list)
    _by_user: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _by_vo: dict[float, list[float]] = field(default_factory=lambda: defaultdict(list))

    def note(self, user: str, asked: float, size: float, seconds: float) -> None:
        """Take note of a file of ``size`` bytes for which ``asked`` bytes per second were asked (0: none)."""
        if not asked:
            return
        reached = size / (seconds * asked) if seconds > 0 else math.inf
        for rates in (self._reached, self._by_user[user], self._by_vo[asked]):
            rates.append(reached)

    def result(self) -> Attainment:
        """Return what came of all of them."""
        if not self._reached:
            return Attainment()
        return Attainment(
            met=_part(self._reached),
            nearly=_part(self._reached, NEARLY),
            worst_user=min(map(_part, self._by_user.values())),
            worst_vo=min(map(_part, self._by_vo.values())),
        )


def _part(reached: Iterable[float], least: float = 1.0) -> float:
    enough = [entry >= least * _ROUNDED for entry in reached]
    return sum(enough) / len(enough)
