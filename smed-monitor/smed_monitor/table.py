"""The latest record of every element, and a way to wait for news.

Records are immutable and replaced one target at a time under a lock, so a reader never sees half
of a sample.  State and age are computed when asked: a record goes stale by itself, without news.
Thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from smed_monitor.model import Moment, Observation, Outcome, Record, State, now


@dataclass(slots=True)
class TargetHealth:
    """What happened at one target so far.  ``error`` is of the latest scrape, empty when it was good."""

    name: str
    scrapes: int = 0
    skipped: int = 0
    seconds: float = 0.0
    last_seconds: float | None = None
    error: str = ""
    failures: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All observations as of one instant, in the order of the settings."""

    sequence: int
    observations: tuple[Observation, ...]


class Table:
    """Written by the scheduler, read by everybody."""

    def __init__(
        self,
        targets: Iterable[str],
        records: Iterable[tuple[str, Record]],
        stale_after_seconds: float,
        clock: Callable[[], Moment] = now,
    ) -> None:
        """``records`` are the first records, each with the name of its target."""
        self._news = threading.Condition()
        self._clock = clock
        self._stale_after = stale_after_seconds
        self._health = {name: TargetHealth(name) for name in targets}
        placed = list(records)
        self._records = {record.element: record for _, record in placed}
        self._target_of = {record.element: name for name, record in placed}
        self._sequence = 0
        self._closed = False

    def publish(self, outcome: Outcome) -> str | None:
        """Take in one outcome, good or bad, and wake everyone who waits.

        Returns the error of the target's previous outcome, ``None`` if this is its first.
        """
        with self._news:
            health = self._health[outcome.target]
            before = health.error if health.scrapes else None
            health.scrapes += 1
            health.seconds += outcome.duration_seconds
            health.last_seconds = outcome.duration_seconds
            health.error = outcome.error
            if outcome.reason:
                health.failures[outcome.reason] = health.failures.get(outcome.reason, 0) + 1
            else:
                self._records.update((record.element, record) for record in outcome.records)
            self._sequence += 1
            self._news.notify_all()
        return before

    def skipped(self, target: str) -> None:
        """Count a turn of ``target`` that was left out because the one before was not over."""
        with self._news:
            self._health[target].skipped += 1

    def wait(self, after: int | None, seconds: float) -> None:
        """Return when there is an outcome the caller has not seen, at the latest after ``seconds``.

        ``after`` is the sequence number the caller has (``None``: the one of now).  A number that
        is ahead of the table's comes from before a restart of the monitor, so there is news.
        """
        with self._news:
            seen = self._sequence if after is None else after
            self._news.wait_for(lambda: self._closed or self._sequence != seen, timeout=seconds)

    def close(self) -> None:
        """Let everyone who waits go, now and from now on."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    def snapshot(self) -> Snapshot:
        """Everything as of now."""
        with self._news:
            sequence = self._sequence
            records = tuple(self._records.values())
            errors = {name: health.error for name, health in self._health.items()}
        at = self._clock().monotonic
        return Snapshot(
            sequence, tuple(self._observation(r, errors[self._target_of[r.element]], at) for r in records)
        )

    def health(self) -> tuple[TargetHealth, ...]:
        """A copy of what happened at every target."""
        with self._news:
            return tuple(replace(h, failures=dict(h.failures)) for h in self._health.values())

    def _observation(self, record: Record, error: str, at: float) -> Observation:
        age = None if record.at is None else max(0.0, at - record.at.monotonic)
        if record.missing:
            state = State.MISSING
        elif age is None or age > self._stale_after:
            state = State.STALE
        else:
            state = State.OK
        detail = record.detail
        if error:
            detail = f"{record.target} {error}" + (f"; before that: {detail}" if record.at and detail else "")
        elif state is State.STALE:
            detail = f"{record.target} has not been asked for {age:.1f} s: the monitor is behind"
        return Observation(record, state, age, detail)
