"""What is remembered of one element between two samples: its counters, folded into rates.  Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from smed_monitor.capability import Best, Streak, best_after, streak_after
from smed_monitor.model import RatePair, Reading, ServerQueue
from smed_monitor.rates import Rate, Windows, increase, observe, restarted


class Loads(NamedTuple):
    """The counters of one element, the device they belong to and what they taught.

    ``stamp`` and ``started`` are those of the last reading.  ``in_flight`` is the last gauge, used
    where no counter of request time exists.
    """

    device: str = ""
    read: Rate = Rate()
    write: Rate = Rate()
    queue: Rate = Rate()
    operations: Rate = Rate()
    busy: Rate = Rate()
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
        return Loads(
            device=reading.device,
            read=observe(before.read, reading.read_bytes, at, windows, reset=reset),
            write=observe(before.write, reading.written_bytes, at, windows, reset=reset),
            queue=observe(before.queue, reading.request_seconds, at, windows, reset=reset),
            operations=observe(before.operations, reading.operations, at, windows, reset=reset),
            busy=observe(before.busy, reading.busy_seconds, at, windows, reset=reset),
            in_flight=reading.in_flight,
            started=reading.started,
            stamp=reading.stamp,
            streak=streak,
            best=best_after(before.best, streak) if learn else before.best,
            server_queue=reading.server_queue,
        )

    def restarted(self) -> Loads:
        """Only averages and what was learned: the next counters cannot be compared with the last."""
        return Loads(
            read=restarted(self.read),
            write=restarted(self.write),
            queue=restarted(self.queue),
            operations=restarted(self.operations),
            busy=restarted(self.busy),
            best=self.best,
        )

    @property
    def queue_depth(self) -> float | None:
        """Mean requests in flight over the short window; where only a gauge exists, its last value."""
        mean = self.queue.current.value
        return self.in_flight if mean is None and self.queue.last is None else mean

    @property
    def service_seconds(self) -> float | None:
        """Mean time of one operation over the short window; ``None`` when there was none."""
        done, time = self.operations.current.value, self.busy.current.value
        return time / done if done and time is not None else None

    @staticmethod
    def pair(rate: Rate) -> RatePair:
        """A rate over both windows; unknown while its counter is."""
        known = rate.last is not None
        return RatePair(
            current=rate.current.value if known else None,
            average=rate.average.value if known else None,
        )


def _share_of_queue(before: Loads, reading: Reading) -> float:
    """The element's part of its server's queue, as a counter of its own.

    The requests of all elements wait for the same threads, so each has the part of the waiting that it
    has of the operations since the last reading; none while it did nothing.
    """
    so_far, server, last = before.queue.last or 0.0, reading.server_queue, before.server_queue
    if server is None or last is None or reading.operations is None or before.operations.last is None:
        return so_far
    all_operations = increase(last.operations, server.operations)
    if all_operations <= 0:
        return so_far
    part = min(1.0, increase(before.operations.last, reading.operations) / all_operations)
    return so_far + part * increase(last.request_seconds, server.request_seconds)


def _longer(before: Loads, reading: Reading, at: float) -> Streak:
    """The streak of a non-empty queue after this interval."""
    seconds = at - before.read.at
    if (
        before.read.last is None
        or before.write.last is None
        or reading.read_bytes is None
        or reading.written_bytes is None
        or seconds <= 0
    ):
        return Streak()
    if reading.request_seconds is not None and before.queue.last is not None:
        depth: float | None = increase(before.queue.last, reading.request_seconds) / seconds
    elif reading.in_flight is not None and before.in_flight is not None:
        depth = min(reading.in_flight, before.in_flight)
    else:
        depth = None
    return streak_after(
        before.streak,
        depth,
        seconds,
        increase(before.read.last, reading.read_bytes),
        increase(before.write.last, reading.written_bytes),
    )
