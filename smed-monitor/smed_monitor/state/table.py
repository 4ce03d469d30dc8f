"""The latest record of every element, and a way to wait for the next outcome.

An element may be seen at several targets (an OST moves between its servers): the one that had it last
keeps it until that one lacks it or falls silent and another shows it.

Records are immutable and replaced one target at a time under a lock, so a reader never sees half
of a sample.  State and age are computed when asked: a record goes stale by itself, without an outcome.
Thread-safe.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from smed_monitor.core.model import Moment, Observation, Outcome, Record, State, now

MANY_TARGETS = 8
MAX_REMEMBERED = 8192
"""Outcomes whose elements are remembered for readers that ask only for changes."""


@dataclass(slots=True)
class TargetHealth:
    """What happened at one target so far.

    ``error`` is of the latest scrape, empty when it was good; ``way`` is how that one came.
    """

    name: str
    scrapes: int = 0
    skipped: int = 0
    seconds: float = 0.0
    last_seconds: float | None = None
    error: str = ""
    way: str = ""
    failures: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All observations as of one instant, in the order of the settings."""

    sequence: int
    observations: tuple[Observation, ...]


class Change(NamedTuple):
    """When an outcome came (monotonic), and the elements it was about."""

    at: float
    elements: tuple[str, ...]


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
        self._changed = threading.Condition()
        self._clock = clock
        self._stale_after = stale_after_seconds
        self._health = {name: TargetHealth(name) for name in targets}
        self._failing: set[str] = set()
        self._records: dict[str, Record] = {}
        self._holder: dict[str, str] = {}
        self._shared: dict[str, dict[str, Record]] = {}
        self._names_at: dict[str, tuple[str, ...]] = {}
        for name, record in records:
            self._records.setdefault(record.element, record)
            self._take_in(record, name)
            self._names_at[name] = (*self._names_at.get(name, ()), record.element)
        self._changes: OrderedDict[int, Change] = OrderedDict()
        self._sequence = 0
        self._closed = threading.Event()

    def publish(self, outcome: Outcome) -> str | None:
        """Take in one outcome, good or bad, and wake everyone who waits.

        Returns the error of the target's previous outcome, ``None`` if this is its first.
        """
        with self._changed:
            health = self._health[outcome.target]
            before = health.error if health.scrapes else None
            health.scrapes += 1
            health.seconds += outcome.duration_seconds
            health.last_seconds = outcome.duration_seconds
            health.error = outcome.error
            health.way = outcome.way
            self._sequence += 1
            if outcome.reason:
                health.failures[outcome.reason] = health.failures.get(outcome.reason, 0) + 1
                self._failing.add(outcome.target)
            else:
                self._failing.discard(outcome.target)
                self._take_in_all(outcome)
            self._note(outcome.target)
            self._changed.notify_all()
        return before

    def _take_in_all(self, outcome: Outcome) -> None:
        target, holder, shared = outcome.target, self._holder, self._shared
        names = []
        for record in outcome.records:
            name = record.element
            names.append(name)
            if name not in shared and holder.get(name) == target:
                self._records[name] = record
            else:
                self._take_in(record, target)
        if self._names_at.get(target) != (listed := tuple(names)):
            self._names_at[target] = listed

    def _take_in(self, record: Record, target: str) -> None:
        """Take what ``target`` says about an element that others may say something about too."""
        name = record.element
        holder = self._holder.setdefault(name, target)
        if holder != target and name not in self._shared:
            self._shared[name] = {holder: self._records[name]}
        if name in self._shared:
            views = self._shared[name]
            views[target] = record
            if holder != target:
                self._holder[name] = self._held_by(views[target], views[holder], target, holder)
            record = views[self._holder[name]]
        self._records[name] = record

    def _held_by(self, mine: Record, theirs: Record, target: str, holder: str) -> str:
        """Return which target has the element, after ``target`` saw it too: mine or theirs."""
        if mine.missing or mine.at is None:
            return holder
        if theirs.missing or theirs.at is None:
            return target
        return target if mine.at.monotonic - theirs.at.monotonic > self._stale_after else holder

    def _note(self, target: str) -> None:
        """Remember whose elements this outcome changed: those of ``target``, well or badly."""
        self._changes[self._sequence] = Change(self._clock().monotonic, self._names_at.get(target, ()))
        if len(self._changes) > MAX_REMEMBERED:
            self._changes.popitem(last=False)

    def skipped(self, target: str) -> None:
        """Count a scrape of ``target`` that was left out because the one before was not over."""
        with self._changed:
            self._health[target].skipped += 1

    def wait(
        self, after: int | None, seconds: float, gather: float = 0.0, ended: threading.Event | None = None
    ) -> None:
        """Return when there is an outcome the caller has not seen, at the latest after ``seconds``.

        Also when :meth:`end` was called with ``ended``.

        ``after`` is the sequence number the caller has (``None``: the one of now).  A number that
        is ahead of the table's comes from before a restart of the monitor, so something changed.  Where
        there are many targets, the outcomes of several go out together, none of them later than ``gather``
        seconds after it came: what waited while the reader was busy has had its time.
        """
        with self._changed:
            seen = self._sequence if after is None else after
            changed = self._changed.wait_for(
                lambda: self._closed.is_set() or self._sequence != seen or (ended and ended.is_set()),
                timeout=seconds,
            )
            first = self._changes.get(seen + 1)
        if changed and first is not None and len(self._health) >= MANY_TARGETS:
            left = first.at + gather - self._clock().monotonic
            self._closed.wait(
                max(0.0, left)
            )  # not for a change: each outcome would wake everyone who gathers

    def end(self, ended: threading.Event) -> None:
        """Let the one go who waits with ``ended``."""
        with self._changed:
            ended.set()
            self._changed.notify_all()

    @property
    def sequence(self) -> int:
        """Outcomes so far."""
        return self._sequence

    def changes(self, after: int) -> Snapshot | None:
        """The elements that outcomes after ``after`` were about; ``None``: too long ago to know."""
        with self._changed:
            behind = self._sequence - after
            if behind < 0 or behind > len(self._changes):
                return None
            names = dict.fromkeys(
                name for each in range(after + 1, self._sequence + 1) for name in self._changes[each].elements
            )
        return self._observed(names)

    def close(self) -> None:
        """Let everyone who waits go, now and from now on."""
        with self._changed:
            self._closed.set()
            self._changed.notify_all()

    def snapshot(self) -> Snapshot:
        """Everything as of now."""
        return self._observed(None)

    def _observed(self, names: Iterable[str] | None) -> Snapshot:
        with self._changed:
            sequence = self._sequence
            known = self._records
            records = list(known.values()) if names is None else [known[name] for name in names]
            errors = {
                record.element: self._health[self._holder[record.element]].error
                for record in (records if self._failing else ())
            }
        at = self._clock().monotonic
        observations = [self._observation(record, errors.get(record.element, ""), at) for record in records]
        return Snapshot(sequence, tuple(observations))

    def record(self, element: str) -> Record | None:
        """The record of one element; ``None``: there is no such element."""
        with self._changed:
            return self._records.get(element)

    def health(self) -> tuple[TargetHealth, ...]:
        """A copy of what happened at every target."""
        with self._changed:
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
