"""How long a program that was measured would take elsewhere, and what would limit it there.  Pure.

The storage of a place is one resource: a byte read takes 1/read rate, a byte written 1/write rate.  Processor
time of the program is what it was, by as many cores as it used then.  The sum of both is the time of a
program that waits for each transfer (O_DIRECT, O_SYNC); one that reads ahead and writes behind through the
page cache takes the longer of the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ses.streaming.model import Node, Resource, StreamProfile, peak
from ses.streaming.paths import CLIENT

STRIPES = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Work:
    """What a program moves and computes: bytes, seconds of processor time, and cores it uses at once."""

    read_bytes: float
    written_bytes: float
    cpu_seconds: float
    cores: float = 1.0
    overlapped: bool = True

    @property
    def moved(self) -> float:
        """All bytes."""
        return self.read_bytes + self.written_bytes

    def profile(self) -> StreamProfile:
        """Return it for each byte; raises ValueError when it moves nothing."""
        if self.moved <= 0:
            raise ValueError("a program that moves no byte is no stream")
        ratio = self.written_bytes / self.read_bytes if self.read_bytes else math.inf
        return StreamProfile(
            gamma=self.cpu_seconds / self.moved, written_per_read=ratio, overlapped=self.overlapped
        )


@dataclass(frozen=True, slots=True)
class Place:
    """An element and what a stream would get there, in bytes per second."""

    name: str
    read_rate: float
    write_rate: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """The time on some elements, what binds, what each resource would allow, and how many such programs fit.

    ``together``: how many of them (writers, aggregators) run there at once before storage is what limits
    them: ``allowed`` of the disk over ``alone``, what one of them would move there if storage gave all it
    could take, in bytes per second (infinite when nothing but storage limits it).
    """

    elements: tuple[str, ...]
    seconds: float
    binding: Resource
    allowed: dict[Resource, float]
    together: int
    alone: float = math.inf


def forecast(work: Work, places: Sequence[Place], link: float = math.inf) -> Forecast:
    """Return the forecast for a file striped evenly over these places; ``link``: bytes per second."""
    slowest_read = min(place.read_rate for place in places) * len(places)
    slowest_write = min(place.write_rate for place in places) * len(places)
    by_storage = _over(work.read_bytes, slowest_read) + _over(work.written_bytes, slowest_write)
    profile = work.profile()
    storage = work.moved / by_storage if by_storage > 0 else math.inf
    node = Node(disk=storage, processor=work.cores, link=link)
    limited = peak(node, profile, CLIENT)
    alone = peak(Node(processor=work.cores, link=link), profile, CLIENT).rate
    return Forecast(
        tuple(place.name for place in places),
        _over(work.moved, limited.rate),
        limited.binding,
        dict(limited.allowed),
        1 if math.isinf(alone) else max(1, math.floor(storage / alone)),
        alone,
    )


def forecasts(work: Work, places: Sequence[Place], link: float = math.inf) -> list[Forecast]:
    """Return one for each place, in their order, then one for each stripe count over the best of them."""
    alone = [forecast(work, [place], link) for place in places]
    best = sorted(places, key=lambda place: forecast(work, [place], link).seconds)
    return alone + [forecast(work, best[:count], link) for count in STRIPES[1:] if count <= len(best)]


def advice(expected: Forecast, others: Sequence[Forecast], work: Work) -> str:
    """Return what to change first for the forecast that was found, in one sentence."""
    faster = min(others, key=lambda other: other.seconds)
    gain = 1 - faster.seconds / expected.seconds if expected.seconds > 0 else 0.0
    if expected.binding is Resource.DISK and gain > _WORTH:
        where = faster.elements[0] if len(faster.elements) == 1 else f"{len(faster.elements)} stripes"
        return f"Storage binds: {where} would take {gain:.0%} less time."
    if expected.binding is Resource.DISK:
        return "Storage binds, and no other element is faster now: move fewer bytes, or run later."
    if expected.binding is Resource.PROCESSOR:
        cores = "1 core" if work.cores == 1 else f"{work.cores:.0f} cores"
        return (
            f"The processor binds: other storage changes little; use more than {cores}, or fewer and larger "
            "calls."
        )
    return f"The {expected.binding} binds: use more nodes, not more stripes."


def _whole(rate: float) -> str:
    return f"{rate:.3g}" if rate < 1000 else f"{rate:.0f}"


def fitting(expected: Forecast) -> str:
    """Return how many such programs fit there, with the arithmetic, in one sentence."""
    where = expected.elements[0] if len(expected.elements) == 1 else f"{len(expected.elements)} stripes"
    together = f"{expected.together} at once"
    storage, alone = expected.allowed[Resource.DISK] / 1e6, expected.alone / 1e6
    if math.isinf(alone):
        return f"{where}: one such program takes all of the {_whole(storage)} MB/s that storage gives."
    if alone > storage:
        return f"{where}: one could move {_whole(alone)} MB/s, storage gives {_whole(storage)}: 1 fills it."
    return f"{where}: storage {_whole(storage)} MB/s / {_whole(alone)} MB/s of one = {together}."


def fitting_on_all(predictions: Sequence[Forecast]) -> str:
    """Return how many such programs fit on all elements, each program on one of them, in one sentence."""
    single = [prediction for prediction in predictions if len(prediction.elements) == 1]
    counts = ", ".join(f"{prediction.elements[0]} {prediction.together}" for prediction in single)
    return (
        f"all {len(single)} elements: {sum(prediction.together for prediction in single)} at once ({counts})."
    )


_WORTH = 0.05


def _over(size: float, rate: float) -> float:
    if size <= 0:
        return 0.0
    return size / rate if rate > 0 else math.inf
