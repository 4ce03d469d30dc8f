"""The monitor: what is known of the elements, how old it is when it is known, and how rough.

A sample is taken every ``interval`` seconds and published ``delay`` seconds later.  Rates and depth
are means over the last ``window`` seconds before the sample (the whole interval when the window is
as long: a monitor that only keeps counters cannot say more).
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

    ``long_window`` is that of average rates, 0 for none: exponential, as the monitor's.
    """

    interval: float
    delay: float = 0.0
    window: float | None = None
    depth: bool = False
    long_window: float = 0.0

    @property
    def span(self) -> float:
        """The seconds over which rates are averaged."""
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
        read_rate, write_rate, busy, depth = [], [], [], []
        for server, (reads, writes, queued), (reads0, writes0, queued0) in zip(
            self._servers, counters, self._before, strict=True
        ):
            reading, writing = (reads - reads0) / elapsed, (writes - writes0) / elapsed
            read_rate.append(reading * server.device.read_rate)
            write_rate.append(writing * server.device.write_rate)
            busy.append(reading + writing)
            depth.append((queued - queued0) / elapsed)
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
        if sampling.delay:
            engine.at(now + sampling.delay, partial(self._publish, sample))
        else:
            self._publish(sample, now)
        following = now + sampling.interval
        engine.at(following, self._sample)
        if sampling.span < sampling.interval:
            engine.at(following - sampling.span, self._open_window)
        else:
            self._opened, self._before = now, counters

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
