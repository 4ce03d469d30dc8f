"""What nodes report to the service, and it sends them: the ledger as it is, and as a node knows it.

A node's agent reports files that were created and closed there at once, or ``within`` seconds after its last
report, and the answer has what all others reported by then.  It asks also when it has nothing to report, at
the service's pace: twice as often while files are created on its node, and seldom where none was for long
(``ses_service.ledger.pace``).  What happened on a node itself is known there at once; another user's claim
after ``HANDOVER``.  A close is seen by the agent up to ``close_poll`` seconds late.

The service has one state, that of now.  What a node does not know yet is taken back from a copy of it, which
is exact and costs no event of its own for each report.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from ses_core import Kind
from ses_service.ledger.pace import CREATING_FOR, CREATING_PART, USED_FOR, Use, pace_for, report_within

from ses_simulate.monitor import Sampling
from ses_simulate.policies.interface import File, World

HANDOVER = 0.005  # seconds until other users of the node see a claim
RATE_SECONDS = 10.0  # over which the rate of placements is taken
MAX_WINDOWS = 10.0  # after which what ended is forgotten
LONG_AGO = 1e6
GOLDEN = 0.6180339887498949
WRITING = Kind.CURRENT_WRITE, Kind.AVERAGE_WRITE


@dataclass(slots=True, eq=False)
class Change:
    """A stream more or less on an element, as a node reports it.

    ``began`` is when the file was created, ``happened`` when it was created or seen to be closed.
    ``last_before`` and ``promised_before`` are set when the service takes it;
    ``promised`` is the rate asked for, 0 for none, ``hard`` or not.
    """

    file: int
    node: int
    user: str
    row: int
    streams: int
    began: float
    happened: float
    placed: bool = True
    last_before: float = 0.0
    promised: float = 0.0
    hard: bool = False
    promised_before: tuple[float, float] = (0.0, 0.0)


@dataclass(slots=True, eq=False)
class Ledger:
    """The service's columns, an item per element.

    ``own`` streams of ours, ``last_placed`` when the last file was created there, ``promised`` how many ask
    for which rate, hard or not.
    """

    own: list[float]
    last_placed: list[float]
    promised: list[Counter[tuple[float, bool]]]
    reference: float = -math.inf
    open_files: dict[int, tuple[float, int]] = field(default_factory=dict)

    def largest(self, row: int) -> tuple[float, float]:
        """Return the largest rate that a stream of ours on an element asks for, and the largest hard one."""
        there = self.promised[row]
        return max(there, default=(0.0, False))[0], max((rate for rate, hard in there if hard), default=0.0)


@dataclass(slots=True, eq=False)
class _Speaking:
    """When a node's agent reported, will report next, and when a file was last created there."""

    reported_at: float
    reports_at: float = math.inf
    created_at: float = -LONG_AGO


class Reports:
    """The ledger, and which node knows what of it."""

    def __init__(self, world: World) -> None:
        size = len(world.devices)
        self.nodes = world.nodes
        self.pace = world.pace / CREATING_PART if world.pace else pace_for(Use.NOW, world.nodes)
        self._seldom = max(self.pace, pace_for(Use.PERHAPS, world.nodes))
        self.within = world.pace or report_within(world.nodes)
        self.ledger = Ledger([0.0] * size, [0.0] * size, [Counter() for _ in range(size)])
        self._writes = world.writes or 0.0
        self.changed: Callable[[int], object] = lambda _row: None
        self._random = world.random("closes seen")
        self._close_poll = world.close_poll
        self._nodes = [_Speaking(self.pace * (node * GOLDEN % 1.0 - 1.0)) for node in range(world.nodes)]
        self._coming: list[tuple[float, int, Change]] = []
        self._number = 0
        self._reported: deque[tuple[float, Change]] = deque()
        self._unreported: list[list[Change]] = [[] for _ in range(world.nodes)]
        self._spans: deque[tuple[float, float, int]] = deque()  # streams that ended recently
        self._streams = [0] * world.nodes  # of the ledger, those of each node
        self._most_own = [0.0] * size
        self._rate = 0.0
        self._rates = [0.0] * world.nodes
        self._rate_at = 0.0
        self._rates_at = [0.0] * world.nodes

    def last_report(self, node: int, now: float) -> float:
        """Return when a node's agent last reported."""
        state = self._nodes[node]
        if state.reports_at <= now:
            state.reported_at, state.reports_at = state.reports_at, math.inf
        for pause, until in (
            (self.within, state.created_at + CREATING_FOR * self.within),
            (self.pace, state.created_at + USED_FOR),
            (self._seldom, math.inf),
        ):
            state.reported_at += max(0, math.floor((min(now, until) - state.reported_at) / pause)) * pause
        return state.reported_at

    def opened(self, now: float, file: File, row: int) -> Change:
        """A file was created on a node."""
        node = file.node
        self._rate = self._faded(self._rate, self._rate_at, now) + 1 / RATE_SECONDS
        self._rates[node] = self._faded(self._rates[node], self._rates_at[node], now) + 1 / RATE_SECONDS
        self._rate_at = self._rates_at[node] = now
        promised = self._writes if file.writes is None else file.writes
        promised *= file.kind in WRITING
        change = Change(file.number, node, file.user, row, 1, now, now, promised=promised)
        change.hard = file.hard
        self._report(change)
        return change

    def read(self, now: float, file: File, row: int) -> Change:
        """A file that was closed is read on its node: a stream again, and no placement."""
        change = Change(file.number, file.node, file.user, row, 1, now, now, placed=False)
        self._report(change)
        return change

    def closes_at(self, now: float) -> float:
        """Return when the agent will see that a file was closed now."""
        return now + self._random.random() * self._close_poll if self._close_poll else now

    def ended(self, now: float, opened: Change) -> None:
        """An agent saw that a stream of its node ended."""
        ended = Change(opened.file, opened.node, opened.user, opened.row, -1, opened.began, now)
        ended.promised, ended.hard = opened.promised, opened.hard
        self._report(ended)

    def unreported(self, node: int, now: float) -> float:
        """Return how many files others created that a node may not know of."""
        return self.rate_of_others(node, now) * (now - self.last_report(node, now) + self.within / 2)

    def rate_of(self, node: int, now: float) -> float:
        """Return how many files a second are created on a node."""
        return self._faded(self._rates[node], self._rates_at[node], now)

    def rate_of_others(self, node: int, now: float) -> float:
        """Return how many files a second are created on other nodes."""
        return max(0.0, self.rate(now) - self.rate_of(node, now))

    def rate(self, now: float) -> float:
        """Return how many files a second are created."""
        return self._faded(self._rate, self._rate_at, now)

    def advance(self, now: float) -> None:
        """Take what was reported by now."""
        coming = self._coming
        while coming and coming[0][0] <= now:
            reported_at, _, change = heapq.heappop(coming)
            self._take(reported_at, change)
        reported = self._reported
        while reported and reported[0][0] <= now - self._seldom:
            reported.popleft()

    def known_differently(self, node: int, user: str, now: float) -> Iterator[tuple[Change, int]]:
        """Yield what a node knows otherwise than the service: changes to take back (-1) and to add (1).

        Those to take back come latest first.
        """
        last = self.last_report(node, now)
        for reported_at, change in reversed(self._reported):
            if reported_at <= last:
                break
            if change.node != node:
                yield change, -1
        unreported = self._unreported[node]
        if unreported:
            for change in unreported:
                if change.user == user or now - change.happened >= HANDOVER:
                    yield change, 1

    def streams(self, file: File, row: int, now: float) -> float:
        """Return how many streams of ours a file's program knows of on an element."""
        self.advance(now)
        changes = self.known_differently(file.node, file.user, now)
        return self.ledger.own[row] + sum(sign * entry.streams for entry, sign in changes if entry.row == row)

    def streams_of(self, node: int) -> int:
        """Return how many streams on all elements are of files of a node, as it knows them."""
        return max(0, self._streams[node] + sum(change.streams for change in self._unreported[node]))

    def most_own(self) -> list[float]:
        """Return the most streams of ours that each element had at a time since the last call."""
        most, self._most_own = self._most_own, self.ledger.own.copy()
        return most

    def sampled(self, sampling: Sampling, taken: float, *, averaged: bool) -> list[float]:
        """Take a sample of the monitor; return our streams, averaged as the monitor averages rates.

        Not ``averaged``: those of the middle of its window.
        """
        ledger = self.ledger
        ledger.reference = taken - sampling.span / 2
        reference, size = ledger.reference, len(ledger.own)
        then = [0.0] * size
        spans = self._spans
        while spans and spans[0][1] <= taken - MAX_WINDOWS * sampling.span:
            spans.popleft()
        weigh = partial(_part, sampling, taken) if averaged else partial(_there, reference)
        for began, row in ledger.open_files.values():
            then[row] += weigh(began, math.inf)
        for began, ended, row in spans:
            then[row] += weigh(began, ended)
        return then

    def _report(self, change: Change) -> None:
        state, now = self._nodes[change.node], change.happened
        last = self.last_report(change.node, now)
        if state.reports_at == math.inf:
            state.reports_at = max(now, last + self.within)
        if change.streams > 0 and change.placed:
            state.created_at = now
        self._number += 1
        heapq.heappush(self._coming, (state.reports_at, self._number, change))
        self._unreported[change.node].append(change)

    def _take(self, reported_at: float, change: Change) -> None:
        ledger, row = self.ledger, change.row
        self._unreported[change.node].remove(change)
        ledger.own[row] += change.streams
        self._most_own[row] = max(self._most_own[row], ledger.own[row])
        self._streams[change.node] += change.streams
        change.promised_before = ledger.largest(row)
        if change.promised:
            there = ledger.promised[row]
            there[change.promised, change.hard] += change.streams
            if not there[change.promised, change.hard]:
                del there[change.promised, change.hard]
        if change.streams > 0:
            change.last_before = ledger.last_placed[row]
            if change.placed:
                ledger.last_placed[row] = max(ledger.last_placed[row], change.happened)
            ledger.open_files[change.file] = (change.began, row)
        else:
            del ledger.open_files[change.file]
            self._spans.append((change.began, change.happened, row))
        self._reported.append((reported_at, change))
        self.changed(row)

    @staticmethod
    def _faded(rate: float, since: float, now: float) -> float:
        return rate * math.exp((since - now) / RATE_SECONDS)


def _there(moment: float, began: float, ended: float) -> float:
    return float(began <= moment < ended)


def _part(sampling: Sampling, taken: float, began: float, ended: float) -> float:
    """Return which part of what a sample tells a stream was there, from 0 to 1."""
    first, last = max(0.0, taken - ended), max(0.0, taken - began)
    if sampling.constant:
        return math.exp(-first / sampling.constant) - math.exp(-last / sampling.constant)
    return max(0.0, min(last, sampling.span) - first) / sampling.span
