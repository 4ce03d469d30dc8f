"""One line of a result: how a rule fared against a baseline and against the clairvoyant one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ses_simulate.statistics import Interval, interval


@dataclass(frozen=True, slots=True)
class Row:
    """A rule in a scenario.

    ``gain`` is the part of the baseline's time that was saved; ``supported`` is ``half`` or ``all``:
    how much of the load the rule placed.  ``slowdown_vs_clairvoyant`` is the time under the rule over
    the time under the clairvoyant one in its place; ``mean_slowdown`` the time over that of the same
    work with all elements idle.  ``users`` is ``None`` where files come without users; files are created
    on so many ``nodes``.  ``mean_seconds`` and ``baseline_seconds`` are run times of users.  ``judged``
    tells what time is compared: the ``mean`` of files, or that until the ``last`` of a burst or workflow;
    where it is ``room``, slowdowns are about the mean.  ``p95_slowdown`` and ``p99_slowdown`` are about
    files, ``last_slowdown`` about bursts and workflows, ``crowd`` is how many files of a burst the element
    has that has most, ``no_room`` counts files of a thousand that found no room though another element had
    it; ``met``, ``nearly``, ``worst_user`` and ``worst_vo`` are what
    :class:`~ses_simulate.attainment.Attainment` says; ``None``: not measured.
    """

    scenario: str
    users: int | None
    policy: str
    baseline: str
    supported: str
    gain: Interval
    slowdown_vs_clairvoyant: Interval
    mean_slowdown: float
    seeds: int
    nodes: int | None = None
    judged: str = "mean"
    mean_seconds: float | None = None
    baseline_seconds: float | None = None
    p95_slowdown: float | None = None
    p99_slowdown: float | None = None
    last_slowdown: float | None = None
    crowd: float | None = None
    no_room: float | None = None
    met: float | None = None
    nearly: float | None = None
    worst_user: float | None = None
    worst_vo: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON knows it, with the ends of the 95 % intervals beside their means.

        An end that one seed alone cannot tell is ``null``.
        """
        values: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, Interval):
                values[field.name] = value
                continue
            prefix = "" if field.name == "gain" else "slowdown_"
            values |= {
                field.name: value.mean,
                f"{prefix}low": known(value.low),
                f"{prefix}high": known(value.high),
            }
        return values


def known(value: float) -> float | None:
    """Return a number as JSON knows it; an end that one value alone does not give is ``null``."""
    return value if math.isfinite(value) else None


def gain(times: Sequence[float], baseline: Sequence[float]) -> Interval:
    """Return the part of the baseline's time saved, seed by seed."""
    return interval([1 - time / plain for time, plain in zip(times, baseline, strict=True)])


def ratio(times: Sequence[float], best: Sequence[float]) -> Interval:
    """Return how many times the best one's time was needed, seed by seed."""
    return interval([time / entry for time, entry in zip(times, best, strict=True)])


def shown(part: Interval, digits: int = 1, scale: float = 100.0, sign: str = "+") -> str:
    """Return a mean as a text, ``scale`` times as large, with how far its interval goes where it has ends."""
    reach = scale * (part.high - part.mean)
    return f"{scale * part.mean:{sign}.{digits}f}" + (
        f" +- {reach:.{digits}f}" if math.isfinite(reach) else ""
    )
