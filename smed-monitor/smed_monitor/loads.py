"""What is remembered of one element between two samples: its counters, folded into rates.  Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from smed_monitor.capability import Best, Streak, best_after, streak_after
from smed_monitor.model import UNKNOWN, RatePair, Reading, ServerQueue
from smed_monitor.rates import Rates, Windows, increase, observe, restarted, unseen

READ, WRITTEN, QUEUE, OPERATIONS, BUSY = range(5)
"""The counters of an element, in the order they are folded in."""


class Loads(NamedTuple):
    """The counters of one element, the device they belong to and what they taught.

    ``stamp`` and ``started`` are those of the last reading.  ``in_flight`` is the last gauge, used
    where no counter of request time exists.
    """

    device: str = ""
    rates: Rates = unseen(5)
    in_flight: float | None = None
    started: float | None = None
    stamp: float | None = None
    streak: Streak = Streak()
    best: Best = Best()
    server_queue: ServerQueue | None = None

    def after(self, reading: Reading, at: float, windows: Windows, *, learn: bool = False) -> Loads:
        """These loads once ``reading`` was taken at ``at`` (monotonic); ``learn`` its best rates."""
        before = self if reading.device == self.device else self.restarted()
        reset = (
            reading.started is not None and before.started is not None and reading.started != before.started
        )
        if reading.server_queue is not None:
            reading = replace(reading, request_seconds=_share_of_queue(before, reading))
        streak = _longer(before, reading, at) if learn and not reset else Streak()
        counters = (
            reading.read_bytes,
            reading.written_bytes,
            reading.request_seconds,
            reading.operations,
            reading.busy_seconds,
        )
        rates = observe(before.rates, counters, at, windows, reset=reset)
        return Loads(
            device=reading.device,
            rates=rates,
            in_flight=reading.in_flight,
            started=reading.started,
            stamp=reading.stamp,
            streak=streak,
            best=best_after(before.best, streak) if learn else before.best,
            server_queue=reading.server_queue,
        )

    def restarted(self) -> Loads:
        """Only averages and what was learned: the next counters cannot be compared with the last."""
        return Loads(rates=restarted(self.rates), best=self.best)

    @property
    def queue_depth(self) -> float | None:
        """Mean requests in flight over the short window; where only a gauge exists, its last value."""
        mean = self.rates.current_mean(QUEUE)
        return self.in_flight if mean is None and self.rates.last[QUEUE] is None else mean

    @property
    def service_seconds(self) -> float | None:
        """Mean time of one operation over the short window; ``None`` when there was none."""
        done, time = self.rates.current_mean(OPERATIONS), self.rates.current_mean(BUSY)
        return time / done if done and time is not None else None

    @property
    def read(self) -> RatePair:
        """Bytes read per second over both windows; unknown while the counter is."""
        return self._pair(READ)

    @property
    def write(self) -> RatePair:
        """Bytes written per second, likewise."""
        return self._pair(WRITTEN)

    def _pair(self, counter: int) -> RatePair:
        rates = self.rates
        if rates.last[counter] is None:
            return UNKNOWN
        return RatePair(rates.current_mean(counter), rates.average_mean(counter))


def _share_of_queue(before: Loads, reading: Reading) -> float:
    """The element's part of its server's queue, as a counter of its own.

    The requests of all elements wait for the same threads, so each has the part of the waiting that it
    has of the operations since the last reading; none while it did nothing.
    """
    so_far, server, last = before.rates.last[QUEUE] or 0.0, reading.server_queue, before.server_queue
    operations = before.rates.last[OPERATIONS]
    if server is None or last is None or reading.operations is None or operations is None:
        return so_far
    all_operations = increase(last.operations, server.operations)
    if all_operations <= 0:
        return so_far
    part = min(1.0, increase(operations, reading.operations) / all_operations)
    return so_far + part * increase(last.request_seconds, server.request_seconds)


def _longer(before: Loads, reading: Reading, at: float) -> Streak:
    """The streak of a non-empty queue after this interval."""
    seconds = at - before.rates.at
    read, written, waited = (before.rates.last[each] for each in (READ, WRITTEN, QUEUE))
    if (
        read is None
        or written is None
        or reading.read_bytes is None
        or reading.written_bytes is None
        or seconds <= 0
    ):
        return Streak()
    if reading.request_seconds is not None and waited is not None:
        depth: float | None = increase(waited, reading.request_seconds) / seconds
    elif reading.in_flight is not None and before.in_flight is not None:
        depth = min(reading.in_flight, before.in_flight)
    else:
        depth = None
    return streak_after(
        before.streak,
        depth,
        seconds,
        increase(read, reading.read_bytes),
        increase(written, reading.written_bytes),
    )
