"""Agents that lose their service and find it again: how soon, and what that asks of the service.

The rules are the agent's own (``libses/agent/service/health.cpp``, ``systems/housekeeper.cpp``,
``announcements/announcer.cpp``): a request fails after a second.  After each failure the agent waits a time
by chance, below :func:`delay_bound`, which doubles.  Then it looks
for the service, on one connection, and speaks with it on another; a service that has started anew is told all
that is open.  It looks at the storage systems now and then while all is well, too.  The paces are the
service's (``ses_service.ledger.pace``), by how many nodes it has heard of.

The service is one processor that answers in turn, also those who have given up.  What each request costs is
given, and measured by ``benchmarks/agents_return.py``.  Left out: the network, the start of the service,
files that come and go, and the time for which agents wait for more files before they tell of them.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from dataclasses import dataclass
from enum import IntEnum

from ses_service.ledger.pace import Use, pace_for, report_within, return_within

TIME_OUT = 1.0
FIRST_DELAY, MAX_DELAY = 0.2, 30.0
SMALL_SITE = 2.0  # seconds over which nodes come back at once
LOOKS_EVERY = 5.0  # seconds, and no more often than
LOOK_PACES = 3.0  # so many signs of life
SOONER = 0.8  # the least part of a pause that an agent waits
_BEFORE = 6.0  # seconds from which the service is watched before it is lost


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of processor time of the service for each kind of request, and bytes of memory of an agent.

    Measured by ``benchmarks/agents_return.py --costs`` beside other work on both processors of the machine; a
    word is one of a node in use, which hears the loads of 64 elements.  ``file`` is for one that the ledger
    knows; ``idle`` is a part of a processor, whoever speaks or not.
    """

    connection: float = 0.00046
    look: float = 0.00032
    word: float = 0.00030
    file: float = 0.00006
    idle: float = 0.012
    memory: float = 56_000.0


@dataclass(frozen=True, slots=True)
class Loss:
    """How it is lost: for ``away`` seconds; ``cut``: requests get no answer, and the service goes on."""

    agents: int
    away: float = 30.0
    cut: bool = False
    files: int = 2
    use: Use = Use.NOW


@dataclass(frozen=True, slots=True)
class Return:
    """What came of it.  Times are seconds from when the service is back until an agent has told everything.

    ``usual`` and ``busiest`` are parts of one processor: before the loss, and in the busiest second after
    it; ``most`` are requests in one second after it; ``failed`` requests of agents after it.
    """

    median: float
    late: float
    last: float
    usual: float
    busiest: float
    most: int
    failed: int
    memory_mb: float


class _Next(IntEnum):
    """What an agent does next."""

    LOOK = 0
    WORD = 1
    COMPLETE = 2


@dataclass(slots=True)
class _Agent:
    number: int
    pace: float
    within: float  # over which nodes are to come back
    available: bool = True
    failures: int = 0
    looks_on: int = 0  # the run of the service to which a connection stands; -1: none
    speaks_on: int = 0
    reported_since: bool = False
    epoch: int = 0  # what was planned in an earlier one is not done


def delay_bound(within: float, failures: int) -> float:
    """Return the bound of the delay after so many failures, where nodes are to come back within that."""
    return min(max(MAX_DELAY, within), max(FIRST_DELAY, within - SMALL_SITE) * 2.0 ** min(failures, 16))


def come_back(loss: Loss, costs: Costs, seed: int = 0) -> Return:
    """Play one loss through."""
    return _Site(loss, costs, random.Random(seed)).play()


class _Site:
    """Agents and their service, from a little before it is lost until the last has told all again."""

    def __init__(self, loss: Loss, costs: Costs, chance: random.Random) -> None:
        self.loss, self.costs, self.chance = loss, costs, chance
        self.back_at = _BEFORE + loss.away
        self.known = loss.agents
        self.run = 0  # one more with each start of the service
        self.free_at = 0.0
        self.failed = 0
        self.busy: Counter[int] = Counter()  # microseconds of work, by second
        self.asked: Counter[int] = Counter()
        self.back: list[float] = []
        self.planned: list[tuple[float, int, int, _Next]] = []
        pace, within = pace_for(loss.use, loss.agents), return_within(loss.agents)
        self.agents = [_Agent(number, pace, within) for number in range(loss.agents)]
        for agent in self.agents:
            self.plan(agent, chance.uniform(0, pace), _Next.WORD)
            self.plan(agent, chance.uniform(0, self.look_pause(pace)), _Next.LOOK)

    def play(self) -> Return:
        """Go on until all are back."""
        while len(self.back) < self.loss.agents:
            now, number, epoch, what = heapq.heappop(self.planned)
            if now >= self.back_at and not self.loss.cut and self.run == 0:
                self.run, self.known = 1, 0
            agent = self.agents[number]
            if epoch == agent.epoch:
                self.do(agent, now, what)
        after = range(int(self.back_at), int(self.back_at + max(self.back)) + 1)
        idle, times = self.costs.idle, sorted(self.back)
        before = range(1, int(_BEFORE))
        return Return(
            median=times[len(times) // 2],
            late=times[int(len(times) * 0.99)],
            last=times[-1],
            usual=idle + sum(self.busy[second] for second in before) / 1e6 / len(before),
            busiest=idle + max(self.busy[second] for second in after) / 1e6,
            most=max(self.asked[second] for second in after),
            failed=self.failed,
            memory_mb=self.loss.agents * self.costs.memory / 1e6,
        )

    def plan(self, agent: _Agent, at: float, what: _Next) -> None:
        """Let the agent do this then, if nothing fails before."""
        heapq.heappush(self.planned, (at, agent.number, agent.epoch, what))

    def look_pause(self, pace: float) -> float:
        """Seconds after which an agent looks at the storage systems again."""
        return max(LOOKS_EVERY, LOOK_PACES * pace) * self.chance.uniform(SOONER, 1)

    def do(self, agent: _Agent, now: float, what: _Next) -> None:
        """Ask, and plan what follows from the answer, or from there being none."""
        away = _BEFORE <= now < self.back_at
        if away:
            self.fail(agent, now + (TIME_OUT if self.loss.cut else 0.0))
            return
        self.asked[int(now)] += 1
        stands = (agent.looks_on if what is _Next.LOOK else agent.speaks_on) == self.run
        done = self.serve(now, self.work_for(what) + (0.0 if stands else self.costs.connection))
        if done - now > TIME_OUT:
            self.failed += now >= self.back_at
            self.fail(agent, now + TIME_OUT)
            return
        if what is _Next.LOOK:
            agent.looks_on = self.run
        else:
            agent.speaks_on = self.run
        self.answered(agent, now, done, what)

    def work_for(self, what: _Next) -> float:
        """Return what the service does for it, over a connection that stands."""
        if what is _Next.LOOK:
            return self.costs.look
        return self.costs.word + (self.loss.files * self.costs.file if what is _Next.COMPLETE else 0.0)

    def serve(self, now: float, work: float) -> float:
        """Do the work when all before it is done; returns when it is done itself."""
        self.free_at = max(self.free_at, now) + work / (1 - self.costs.idle)
        self.busy[int(self.free_at)] += round(work * 1e6)
        return self.free_at

    def answered(self, agent: _Agent, asked: float, done: float, what: _Next) -> None:
        """Go on after an answer."""
        if what is _Next.LOOK:
            self.plan(agent, done + self.look_pause(agent.pace), _Next.LOOK)
            if not agent.available:
                agent.available = True
                self.plan(agent, done, _Next.WORD)
            return
        if asked >= self.back_at and not agent.reported_since:
            self.first_word_since(agent, done, what)
            return
        agent.failures = 0
        self.give_paces(agent)
        self.plan(agent, done + agent.pace * self.chance.uniform(SOONER, 1), _Next.WORD)

    def give_paces(self, agent: _Agent) -> None:
        """Take the paces that the service gives where it has heard of so many."""
        agent.pace = pace_for(self.loss.use, self.known)
        agent.within = return_within(self.known)

    def first_word_since(self, agent: _Agent, done: float, what: _Next) -> None:
        """A service that has started anew is told all that is open, in the next word."""
        if what is _Next.WORD and not self.loss.cut:
            self.known += 1
            self.give_paces(agent)
            self.plan(agent, done + report_within(self.known), _Next.COMPLETE)
            return
        agent.reported_since = True
        agent.failures = 0
        self.back.append(done - self.back_at)
        self.plan(agent, done + agent.pace * self.chance.uniform(SOONER, 1), _Next.WORD)

    def fail(self, agent: _Agent, noticed: float) -> None:
        """Wait by chance, and then look for it."""
        bound = delay_bound(agent.within, agent.failures)
        agent.failures += 1
        agent.available, agent.looks_on, agent.speaks_on = False, -1, -1
        agent.epoch += 1
        self.plan(agent, noticed + self.chance.uniform(0, bound), _Next.LOOK)
