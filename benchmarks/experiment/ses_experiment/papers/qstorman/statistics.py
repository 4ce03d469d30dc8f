"""What the runs of Table 1 show: time saved, with 95 % intervals over repetitions (Student's t).  Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ses_simulate.statistics import Interval, interval

from ses_experiment.papers.qstorman.results import Result


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
    runs = [result.run for result in results if result.run.kind in ("half", "none")]
    cells = sorted({(run.background, run.users, run.baseline) for run in runs})
    compared = []
    for background, users, baseline in cells:
        alike = (background, users)
        here = [result for result in results if (result.run.background, result.run.users) == alike]
        half = [result for result in here if result.run.kind == "half" and result.run.baseline == baseline]
        none = {
            result.run.repeat: result
            for result in here
            if result.run.kind == "none" and result.run.baseline == baseline
        }
        everyone = [result for result in here if result.run.kind == "all" and result.run.repeat in none]
        pairs: dict[str, list[tuple[float, float]]] = {
            "half": [(fmean(result.supported), fmean(result.others)) for result in half],
            "all": [(fmean(result.supported), fmean(none[result.run.repeat].others)) for result in everyone],
            "A/A": [_halves(result.others) for result in none.values()],
        }
        compared += [
            _comparison((background, users, baseline, who), times) for who, times in pairs.items() if times
        ]
    return compared


def _halves(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the mean times of those who would be supported, and of the others."""
    middle = len(seconds) // 2
    return fmean(seconds[:middle]), fmean(seconds[middle:])


def _comparison(cell: tuple[str, int, str, str], times: Sequence[tuple[float, float]]) -> Comparison:
    return Comparison(
        *cell,
        gain=interval([1 - supported / plain for supported, plain in times]),
        seconds=fmean(supported for supported, _ in times),
        baseline_seconds=fmean(plain for _, plain in times),
        repeats=len(times),
    )


def lone(results: Iterable[Result], ideal: float) -> dict[str, float]:
    """Return how many times the ideal time a user alone needed, with and without the library."""
    ratios = {}
    for result in results:
        if result.run.kind == "lone":
            times = (*result.supported, *result.others)
            ratios["library" if result.run.supported else "plain"] = times[0] / ideal
    return ratios


def agrees(live: Interval, simulated: Interval) -> bool | None:
    """Return whether two intervals meet; ``None`` when one of them has no ends."""
    ends = (live.low, live.high, simulated.low, simulated.high)
    if not all(map(math.isfinite, ends)):
        return None
    return live.low <= simulated.high and simulated.low <= live.high


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON knows it; an end that one repetition does not give is ``null``."""
    known: Callable[[float], float | None] = lambda value: value if math.isfinite(value) else None  # noqa: E731
    return {
        "background": comparison.background, "users": comparison.users, "baseline": comparison.baseline,
        "who": comparison.who, "gain": comparison.gain.mean,
        "low": known(comparison.gain.low), "high": known(comparison.gain.high),
        "seconds": comparison.seconds, "baseline_seconds": comparison.baseline_seconds,
        "repeats": comparison.repeats,
    }  # fmt: skip
