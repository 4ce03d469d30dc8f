"""What is remembered of the elements of a target between two samples: counters, folded into rates.  Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from smed_monitor.core.capability import Best, Streak, best_after, streak_after
from smed_monitor.core.rates import Rates, Rows, Table, Windows, chosen, increase, observe, restarted, unseen
from smed_monitor.core.readings import (
    BUSY,
    COUNTERS,
    IN_FLIGHT,
    OPERATIONS,
    QUEUE,
    READ,
    SERVER_OPERATIONS,
    SERVER_SECONDS,
    STAMP,
    STARTED,
    WIDTH,
    WRITTEN,
    Readings,
)
from smed_monitor.core.stillness import Stillness, unwatched

NOTHING = Streak()


class Figures(NamedTuple):
    """What is known of every element now, one item per element; NaN while unknown.

    Rates in bytes per second, ``queue_depth`` the mean requests in flight over the short window (where
    only a gauge exists, its last value), ``service_seconds`` the mean time of one operation.
    """

    read_current: Table
    read_average: Table
    write_current: Table
    write_average: Table
    queue_depth: Table
    service_seconds: Table


@dataclass(frozen=True, slots=True)
class Loads:
    """The counters of the elements of one target, the devices they belong to and what they taught.

    ``numbers`` are those of each element's last reading (see ``Readings``).  ``blind`` are those whose
    counters stand still while space is used up there; nothing else is known of their load.
    """

    devices: tuple[str, ...]
    numbers: Table
    rates: Rates
    streaks: tuple[Streak, ...]
    best: tuple[Best, ...]
    stillness: Stillness
    blind: Rows

    def after(self, readings: Readings, at: float, windows: Windows, *, learn: bool = False) -> Loads:
        """These loads once ``readings`` were taken at ``at`` (monotonic); ``learn`` the best rates.

        An element that is absent, or whose counters are another device's now, keeps its averages and
        what was learned; one whose source has not looked again since stays as it is.
        """
        absent = np.array([bool(each) for each in readings.absent], np.bool_)
        other = (
            absent
            if readings.devices == self.devices
            else absent | _differing(readings.devices, self.devices)
        )
        same = self.unmoved(readings)
        before = self._restarted(other) if np.count_nonzero(other) else self
        last, numbers = before.numbers, readings.numbers
        reset = last[:, STARTED] != numbers[:, STARTED]
        if np.count_nonzero(reset):
            reset &= ~np.isnan(last[:, STARTED]) & ~np.isnan(numbers[:, STARTED])
        counters = numbers[:, :COUNTERS]
        shared = ~np.isnan(numbers[:, SERVER_SECONDS])
        if np.count_nonzero(shared):
            counters = counters.copy()
            counters[shared, QUEUE] = _share_of_queue(before, numbers)[shared]
        rates = observe(before.rates, counters, at, windows, reset)
        stillness = before.stillness.after(last, numbers, at)
        streaks, best = before.streaks, before.best
        if learn:
            streaks = _longer(before, counters, numbers[:, IN_FLIGHT], at, reset)
            best = tuple(map(best_after, best, streaks))
        if np.count_nonzero(same) or np.count_nonzero(absent):
            rates = chosen(same, self.rates, chosen(absent, before.rates, rates))
            numbers = np.where((same | absent)[:, None], before.numbers, numbers)
            stillness = Stillness(
                *(
                    np.where(same | absent, old, new)
                    for old, new in zip(before.stillness, stillness, strict=True)
                )
            )
            streaks = tuple(
                old if unmoved else NOTHING if gone else streak
                for old, unmoved, gone, streak in zip(self.streaks, same, absent, streaks, strict=True)
            )
            best = tuple(
                old if unmoved or gone else rates
                for old, unmoved, gone, rates in zip(self.best, same, absent, best, strict=True)
            )
        return Loads(readings.devices, numbers, rates, streaks, best, stillness, stillness.blind(at))

    def unmoved(self, readings: Readings) -> Rows:
        """The elements whose source has not looked again since."""
        same: Rows = self.numbers[:, STAMP] == readings.numbers[:, STAMP]
        if np.count_nonzero(same):
            same &= ~_differing(readings.devices, self.devices)
        return same

    def _restarted(self, rows: Rows) -> Loads:
        """Only averages and what was learned: the next counters cannot be compared with the last."""
        return Loads(
            self.devices,
            np.where(rows[:, None], np.nan, self.numbers),
            restarted(self.rates, rows),
            tuple(NOTHING if row else each for row, each in zip(rows, self.streaks, strict=True)),
            self.best,
            Stillness(*(np.where(rows, np.nan, each) for each in self.stillness)),
            self.blind & ~rows,
        )

    def grown(self, best: tuple[Best, ...]) -> Loads:
        """With elements more, of which nothing is known but their ``best``."""
        more = unknown(best)
        return Loads(
            self.devices + more.devices,
            np.concatenate((self.numbers, more.numbers)),
            Rates(*(np.concatenate(pair) for pair in zip(self.rates, more.rates, strict=True))),
            self.streaks + more.streaks,
            self.best + more.best,
            Stillness(*(np.concatenate(pair) for pair in zip(self.stillness, more.stillness, strict=True))),
            np.concatenate((self.blind, more.blind)),
        )

    def figures(self) -> Figures:
        """What is known now."""
        current, average = self.rates.current_means(), self.rates.average_means()
        average = np.where(np.isnan(self.rates.last), np.nan, average)
        depth = current[:, QUEUE]
        gauge = np.isnan(depth) & np.isnan(self.rates.last[:, QUEUE])
        if np.count_nonzero(gauge):
            depth = np.where(gauge, self.numbers[:, IN_FLIGHT], depth)
        done, time = current[:, OPERATIONS], current[:, BUSY]
        service = np.full_like(done, np.nan)
        np.divide(time, done, out=service, where=done > 0)
        figures = Figures(
            current[:, READ], average[:, READ], current[:, WRITTEN], average[:, WRITTEN], depth, service
        )
        if not np.count_nonzero(self.blind):
            return figures
        return Figures(*(np.where(self.blind, np.nan, each) for each in figures))


def unknown(best: tuple[Best, ...]) -> Loads:
    """As many elements as ``best`` has, which is all that is known of them."""
    count = len(best)
    return Loads(
        ("",) * count,
        np.full((count, WIDTH), np.nan),
        unseen(count, COUNTERS),
        (NOTHING,) * count,
        best,
        unwatched(count),
        np.zeros(count, np.bool_),
    )


def _differing(names: tuple[str, ...], other: tuple[str, ...]) -> Rows:
    return np.array([mine != theirs for mine, theirs in zip(names, other, strict=True)], np.bool_)


def _share_of_queue(before: Loads, numbers: Table) -> Table:
    """Each element's part of its server's queue, as a counter of its own.

    The requests of all elements wait for the same threads, so each has the part of the waiting that it
    has of the operations since the last reading; none while it did nothing.
    """
    last = before.numbers
    so_far = np.nan_to_num(before.rates.last[:, QUEUE])
    server = [SERVER_SECONDS, SERVER_OPERATIONS]
    waited, everything = increase(last[:, server], numbers[:, server]).T
    own = increase(before.rates.last[:, [OPERATIONS]], numbers[:, [OPERATIONS]])[:, 0]
    part = np.zeros_like(own)
    np.divide(own, everything, out=part, where=everything > 0)
    share: Table = so_far + np.nan_to_num(np.minimum(part, 1.0) * waited)
    return share


def _longer(before: Loads, counters: Table, in_flight: Table, at: float, reset: Rows) -> tuple[Streak, ...]:
    """The streaks of a non-empty queue after this interval; elements without one cost nothing."""
    seconds = at - before.rates.at
    moved = increase(before.rates.last, counters)
    depth = moved[:, QUEUE] / np.where(seconds > 0, seconds, np.nan)
    gauge = np.minimum(in_flight, before.numbers[:, IN_FLIGHT])
    depth = np.where(np.isnan(depth), gauge, depth)
    usable = (depth > 0) & (seconds > 0) & ~reset & ~np.isnan(moved[:, [READ, WRITTEN]]).any(axis=1)
    streaks = [NOTHING] * len(seconds)
    for row in np.flatnonzero(usable):
        streaks[row] = streak_after(
            before.streaks[row],
            float(depth[row]),
            float(seconds[row]),
            float(moved[row, READ]),
            float(moved[row, WRITTEN]),
        )
    return tuple(streaks)
