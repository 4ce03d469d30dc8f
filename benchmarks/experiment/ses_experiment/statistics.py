"""What the runs of Table 1 say: time saved, with 95 % intervals over repetitions (Student's t).  Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ses_simulate.statistics import Interval, interval

from ses_experiment.results import Result


@dataclass(frozen=True, slots=True)
class Comparison:
    """One line of the result.

    ``who`` is ``half`` (the supported half against the others of the same run), ``all`` (everyone
    supported against everyone on the baseline, repetition by repetition) or ``A/A`` (the halves of runs
    with nobody supported).  ``gain`` is the part of the baseline's time that was saved.
    """

    background: str
    users: int
    baseline: str
    who: str
    gain: Interval
    seconds: float
    baseline_seconds: float
    repeats: int

    @property
    def cell(self) -> tuple[str, int, str, str]:
        """What is compared, without what came out."""
        return (self.background, self.users, self.baseline, self.who)


def comparisons(results: Sequence[Result]) -> list[Comparison]:
    """Return every comparison that at least one repetition allows, in order of background and users."""
    cells = dict.fromkeys(
        (one.run.background, one.run.users, one.run.baseline)
        for one in sorted(results, key=lambda one: (one.run.background, one.run.users, one.run.baseline))
        if one.run.kind in ("half", "none")
    )
    found = []
    for background, users, baseline in cells:
        here = [one for one in results if (one.run.background, one.run.users) == (background, users)]
        half = [one for one in here if one.run.kind == "half" and one.run.baseline == baseline]
        none = {
            one.run.repeat: one for one in here if one.run.kind == "none" and one.run.baseline == baseline
        }
        everyone = [one for one in here if one.run.kind == "all" and one.run.repeat in none]
        pairs: dict[str, list[tuple[float, float]]] = {
            "half": [(fmean(one.supported), fmean(one.others)) for one in half],
            "all": [(fmean(one.supported), fmean(none[one.run.repeat].others)) for one in everyone],
            "A/A": [_halves(one.others) for one in none.values()],
        }
        found += [
            _comparison((background, users, baseline, who), times) for who, times in pairs.items() if times
        ]
    return found


def _halves(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the mean times of those who would be supported, and of the others."""
    middle = len(seconds) // 2
    return fmean(seconds[:middle]), fmean(seconds[middle:])


def _comparison(cell: tuple[str, int, str, str], times: Sequence[tuple[float, float]]) -> Comparison:
    return Comparison(
        *cell,
        gain=interval([1 - ours / plain for ours, plain in times]),
        seconds=fmean(ours for ours, _ in times),
        baseline_seconds=fmean(plain for _, plain in times),
        repeats=len(times),
    )


def lone(results: Iterable[Result], ideal: float) -> dict[str, float]:
    """Return how many times the ideal time a user alone needed, with and without the library."""
    found = {}
    for one in results:
        if one.run.kind == "lone":
            found["library" if one.run.supported else "plain"] = (*one.supported, *one.others)[0] / ideal
    return found


def agrees(live: Interval, simulated: Interval) -> bool | None:
    """Tell whether two intervals meet; ``None`` when one of them has no ends."""
    ends = (live.low, live.high, simulated.low, simulated.high)
    if not all(map(math.isfinite, ends)):
        return None
    return live.low <= simulated.high and simulated.low <= live.high


def as_json(one: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON knows it; an end that one repetition cannot tell is ``null``."""
    known: Callable[[float], float | None] = lambda value: value if math.isfinite(value) else None  # noqa: E731
    return {
        "background": one.background, "users": one.users, "baseline": one.baseline, "who": one.who,
        "gain": one.gain.mean, "low": known(one.gain.low), "high": known(one.gain.high),
        "seconds": one.seconds, "baseline_seconds": one.baseline_seconds, "repeats": one.repeats,
    }  # fmt: skip
