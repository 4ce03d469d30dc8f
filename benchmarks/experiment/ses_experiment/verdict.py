"""What the rounds of a collision show.  Pure.

The promise: files created at almost the same moment on equal idle branches go to different branches.
For eight of each: at least 7 distinct branches and at most 1.5 files on the fullest, on average.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from statistics import fmean
from typing import Any

_DISTINCT_PART = 7 / 8
_ABOVE_EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Round:
    """Where the files of one round went: ``branches`` in the order they were created.

    ``seconds`` of each program; ``last_seconds`` from the first start to the last end.
    """

    number: int
    arm: str
    supported: bool
    writers: int
    process: str
    branches: tuple[str, ...]
    seconds: tuple[float, ...]
    last_seconds: float
    load: float

    @property
    def distinct(self) -> int:
        """How many branches got a file."""
        return len(set(self.branches))

    @property
    def most(self) -> int:
        """How many files the fullest branch got."""
        return max(Counter(self.branches).values())

    def as_json(self) -> dict[str, Any]:
        """Return the round as JSON data."""
        return {**asdict(self), "distinct": self.distinct, "most": self.most}


@dataclass(frozen=True, slots=True)
class Summary:
    """The rounds of an arm with a number of writers: means, and whether they keep the promise.

    ``holds`` is ``None`` for arms without the library, which promise nothing.
    """

    arm: str
    writers: int
    process: str
    rounds: int
    distinct: float
    most: float
    mean_seconds: float
    last_seconds: float
    wanted_distinct: float
    wanted_most: float
    holds: bool | None


def wanted(writers: int, branches: int) -> tuple[float, float]:
    """Return the least mean of distinct branches and the greatest mean of files on the fullest.

    Scaled from eight writers on eight branches; files of unequal numbers cannot be spread better than
    ``ceil(writers / branches)`` on the fullest.
    """
    return _DISTINCT_PART * min(writers, branches), ceil(writers / branches) + _ABOVE_EVEN


def summaries(rounds: Sequence[Round], branches: int) -> list[Summary]:
    """Return one summary for each arm, number of writers and kind of process, in order of appearance."""
    groups: dict[tuple[str, int, str], list[Round]] = {}
    for round_ in rounds:
        groups.setdefault((round_.process, round_.writers, round_.arm), []).append(round_)
    return [_summary(group, branches) for group in groups.values()]


def _summary(rounds: Sequence[Round], branches: int) -> Summary:
    first = rounds[0]
    least, greatest = wanted(first.writers, branches)
    distinct = fmean(round_.distinct for round_ in rounds)
    most = fmean(round_.most for round_ in rounds)
    return Summary(
        arm=first.arm,
        writers=first.writers,
        process=first.process,
        rounds=len(rounds),
        distinct=distinct,
        most=most,
        mean_seconds=fmean(fmean(round_.seconds) for round_ in rounds),
        last_seconds=fmean(round_.last_seconds for round_ in rounds),
        wanted_distinct=least,
        wanted_most=greatest,
        holds=distinct >= least and most <= greatest if first.supported else None,
    )


def verdict(summarised: Sequence[Summary]) -> tuple[bool, str]:
    """Return whether every arm under the library keeps the promise, and a sentence that says so."""
    judged = [summary for summary in summarised if summary.holds is not None]
    broken = [summary for summary in judged if not summary.holds]
    if not judged:
        return False, "No arm ran under the library, so nothing is promised and nothing is judged."
    if not broken:
        arms = ", ".join(dict.fromkeys(summary.arm for summary in judged))
        return True, f"Holds ({arms}): files created together went to different branches."
    return False, "Does not hold: " + "; ".join(_summary_words(summary) for summary in broken) + "."


def _summary_words(summary: Summary) -> str:
    return (
        f"{summary.arm} with {summary.writers} files by {_by(summary)}: {summary.distinct:.1f} distinct "
        f"branches on average (wanted {summary.wanted_distinct:.1f}), "
        f"{summary.most:.1f} files on the fullest "
        f"(at most {summary.wanted_most:.1f})"
    )


def _by(summary: Summary) -> str:
    return "one process" if summary.process == "one" else "a process each"
