"""The monitor: what is known of the elements, how old it is when it is known, and how rough.

A sample is taken every ``interval`` seconds and published ``delay`` seconds later, unless the monitor is
away.  Rates and depth are means over the last ``window`` seconds before the sample (the whole interval
when the window is as long: a monitor that only keeps counters cannot say more), or exponential means
with a time constant, as smed-monitor keeps them (``smed_monitor/core/rates.py``): what happened ``x`` seconds
ago weighs ``exp(-x / constant)``, so that they never quite return to 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ses_simulate.engine import Engine
from ses_simulate.servers import Server


@dataclass(frozen=True, slots=True)
class Sampling:
    """How elements are watched.  Times are seconds; ``depth`` tells whether queues can be seen.

    ``constant`` is the time constant of current rates, 0 for plain means over ``window``;
    ``long_window`` that of average rates, 0 for none: exponential, as the monitor's.  The monitor is
    ``away`` from the first of these moments to the second.
    """

    interval: float
    delay: float = 0.0
    window: float | None = None
    depth: bool = False
    long_window: float = 0.0
    constant: float = 0.0
    away: tuple[float, float] = (math.inf, math.inf)

    @property
    def span(self) -> float:
        """The seconds over which rates are averaged: twice the mean age of what they tell."""
        if self.constant:
            steps = self.interval / self.constant
            return self.interval + 2 * self.interval / math.expm1(min(50.0, steps))
        return self.interval if self.window is None else min(self.window, self.interval)


@dataclass(frozen=True, slots=True)
class Sample:
    """What one sample says, a value per element.

    ``taken`` is its moment; ``span`` the seconds it covers.  Rates are bytes per second, ``busy`` is
    their sum as a part of what the description promises, ``depth`` the mean number of flows (empty
    when it cannot be seen), ``free`` bytes.  The averages over the long window are empty without one.
    """

    taken: float
    span: float
    read_rate: list[float]
    write_rate: list[float]
    busy: list[float]
    depth: list[float]
    free: list[float]
    average_read: list[float] = field(default_factory=list)
    average_write: list[float] = field(default_factory=list)


class Monitor:
    """Watches servers and tells whoever listens."""

    def __init__(
        self,
        engine: Engine,
        servers: Sequence[Server],
        sampling: Sampling,
        listeners: Sequence[Callable[[float, Sample], object]],
    ) -> None:
        self._engine = engine
        self._servers = servers
        self._sampling = sampling
        self._listeners = listeners
        self._opened = 0.0
        self._before = self._averaged = self._counters(0.0)
        self._averaged_at = 0.0
        self._reads: list[float] = []
        self._writes: list[float] = []
        self._means: list[tuple[float, float, float]] = []
        self._weight = 0.0
        engine.at(0.0, self._sample)

    def _counters(self, now: float) -> list[tuple[float, float, float]]:
        read = []
        for server in self._servers:
            server.advance(now)
            read.append((server.read_seconds, server.write_seconds, server.depth_integral))
        return read

    def _open_window(self, now: float) -> None:
        self._opened = now
        self._before = self._counters(now)

    def _sample(self, now: float) -> None:
        engine, sampling = self._engine, self._sampling
        counters = self._counters(now)
        elapsed = max(now - self._opened, 1e-9)
        means = [
            ((reads - reads0) / elapsed, (writes - writes0) / elapsed, (queued - queued0) / elapsed)
            for (reads, writes, queued), (reads0, writes0, queued0) in zip(
                counters, self._before, strict=True
            )
        ]
        if sampling.constant:
            means = self._fold(means, elapsed)
        read_rate, write_rate, busy, depth = [], [], [], []
        for server, (reading, writing, queued) in zip(self._servers, means, strict=True):
            read_rate.append(reading * server.device.read_rate)
            write_rate.append(writing * server.device.write_rate)
            busy.append(reading + writing)
            depth.append(queued)
        self._average(now, counters)
        sample = Sample(
            taken=now,
            span=sampling.span,
            read_rate=read_rate,
            write_rate=write_rate,
            busy=busy,
            depth=depth if sampling.depth else [],
            free=[server.free for server in self._servers],
            average_read=[
                mean * server.device.read_rate
                for mean, server in zip(self._reads, self._servers, strict=False)
            ],
            average_write=[
                mean * server.device.write_rate
                for mean, server in zip(self._writes, self._servers, strict=False)
            ],
        )
        if sampling.away[0] <= now < sampling.away[1]:
            pass
        elif sampling.delay:
            engine.at(now + sampling.delay, partial(self._publish, sample))
        else:
            self._publish(sample, now)
        following = now + sampling.interval
        engine.at(following, self._sample)
        if not sampling.constant and sampling.span < sampling.interval:
            engine.at(following - sampling.span, self._open_window)
        else:
            self._opened, self._before = now, counters

    def _fold(
        self, means: list[tuple[float, float, float]], elapsed: float
    ) -> list[tuple[float, float, float]]:
        """Return the exponential means after one more interval, unbiased from the first one on."""
        kept = math.exp(-elapsed / self._sampling.constant)
        self._weight = kept * self._weight + 1 - kept
        before = self._means or [(0.0, 0.0, 0.0)] * len(means)
        self._means = [
            (
                kept * old[0] + (1 - kept) * new[0],
                kept * old[1] + (1 - kept) * new[1],
                kept * old[2] + (1 - kept) * new[2],
            )
            for old, new in zip(before, means, strict=True)
        ]
        weight = max(self._weight, 1e-12)
        return [(entry / weight, two / weight, three / weight) for entry, two, three in self._means]

    def _average(self, now: float, counters: list[tuple[float, float, float]]) -> None:
        """Bring the averages over the long window up to a sample."""
        elapsed = now - self._averaged_at
        if self._sampling.long_window <= 0 or elapsed <= 0:
            return
        weight = -math.expm1(-elapsed / self._sampling.long_window)
        if not self._reads:
            self._reads, self._writes, weight = [0.0] * len(counters), [0.0] * len(counters), 1.0
        for number, ((reads, writes, _), (reads0, writes0, _)) in enumerate(
            zip(counters, self._averaged, strict=True)
        ):
            self._reads[number] += weight * ((reads - reads0) / elapsed - self._reads[number])
            self._writes[number] += weight * ((writes - writes0) / elapsed - self._writes[number])
        self._averaged_at, self._averaged = now, counters

    def _publish(self, sample: Sample, now: float) -> None:
        for listener in self._listeners:
            listener(now, sample)
