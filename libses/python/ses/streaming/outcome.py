"""A forecast beside what came of it: the files that were placed since, with the rates they achieved.  Pure.

The time of a run is that in which at least one of its files was open.  What it read from files that were
there before is not among them: the forecast is scaled to the bytes of the directions that are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from ses.streaming.advice import Forecast, Place, Work, forecast
from ses.streaming.model import Resource

_NEAR = 0.15
"""As far as a forecast may be off."""
_BOUND_BY = {
    "slow-element": Resource.DISK,
    "others": Resource.DISK,
    "foreseen": Resource.DISK,
    "client-or-network": Resource.LINK,
}


@dataclass(frozen=True, slots=True)
class Ended:
    """One file that has ended, as the service reports it.  Rates are MB/s, None where nothing moved."""

    element: str
    opened_at: float
    ended_at: float
    read_bytes: float
    written_bytes: float
    read_rate: float | None
    write_rate: float | None
    cause: str | None


class Pair(NamedTuple):
    """One quantity, forecast and measured."""

    name: str
    forecast: float
    measured: float

    @property
    def ratio(self) -> float | None:
        """Measured over forecast."""
        return self.measured / self.forecast if self.forecast > 0 else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was forecast for the elements that the files lie on, and what came of it.

    ``bound``: the resource that bound; None: none of those in the forecast.  ``causes``: what the service
    says of files that were too slow, with how many they are.  ``unforeseen``: elements without a forecast.
    """

    predicted: Forecast
    pairs: tuple[Pair, ...]
    bound: Resource | None
    files: int
    causes: tuple[tuple[str, int], ...]
    unforeseen: tuple[str, ...]


def outcome(work: Work, places: Sequence[Place], link: float, files: Iterable[Ended]) -> Outcome | None:
    """Return the outcome; None when no file moved a byte on an element that was forecast."""
    known = {place.name: place for place in places}
    moved = [file for file in files if file.read_bytes + file.written_bytes > 0]
    mine = [file for file in moved if file.element in known]
    read, written = sum(file.read_bytes for file in mine), sum(file.written_bytes for file in mine)
    basis = (work.read_bytes if read else 0.0) + (work.written_bytes if written else 0.0)
    seconds = _open_seconds(mine)
    if basis <= 0 or seconds <= 0:
        return None
    predicted = forecast(work, [known[name] for name in sorted({file.element for file in mine})], link)
    share = (read + written) / basis
    pairs = [
        Pair("seconds", predicted.seconds * share, seconds),
        Pair("MB/s of the program", work.moved / predicted.seconds / 1e6, work.moved * share / seconds / 1e6),
    ]
    for name, rates in (
        ("MB/s written to a file", [(known[file.element].write_rate, file.write_rate) for file in mine]),
        ("MB/s read from a file", [(known[file.element].read_rate, file.read_rate) for file in mine]),
    ):
        both = [(promised / 1e6, got) for promised, got in rates if got is not None]
        if both:
            pairs.append(Pair(name, *(median(several) for several in zip(*both, strict=True))))
    causes = Counter(file.cause for file in mine if file.cause)
    return Outcome(
        predicted,
        tuple(pairs),
        _bound(predicted, work.moved * share / seconds, causes),
        len(mine),
        tuple(causes.most_common()),
        tuple(sorted({file.element for file in moved} - known.keys())),
    )


def _open_seconds(files: Iterable[Ended]) -> float:
    total, until = 0.0, float("-inf")
    for file in sorted(files, key=lambda each: each.opened_at):
        total += max(0.0, file.ended_at - max(file.opened_at, until))
        until = max(until, file.ended_at)
    return total


def _bound(predicted: Forecast, rate: float, causes: Counter[str]) -> Resource | None:
    """What the service found comes first; else the slowest resource that allows the rate."""
    if rate < (1 - _NEAR) * predicted.allowed[predicted.binding]:
        return _BOUND_BY.get(causes.most_common(1)[0][0]) if causes else None
    able = [resource for resource, allowed in predicted.allowed.items() if allowed >= (1 - _NEAR) * rate]
    return min(able, key=lambda resource: predicted.allowed[resource]) if able else predicted.binding
