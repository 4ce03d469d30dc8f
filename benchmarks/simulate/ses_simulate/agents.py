"""Agents that lose their service and find it again: how soon, and what that asks of the service.

The rules are the agent's own (``libses/agent/service/health.cpp``): a request fails after a second.  After
each failure it waits a time by chance, below a bound that begins with :func:`first_delay`, doubles, and is
30 s at most.  Then it looks for the service, and tells it all that is open.  The paces are the service's
(``ses_service.ledger.pace``).  The service is one processor that answers in turn; what each request costs is
given, and measured by ``benchmarks/agents_return.py``.  Left out: the network, and the time for which agents
wait for more files before they tell of them.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from dataclasses import dataclass

from ses_service.ledger.pace import Use, pace_for

TIME_OUT = 1.0
LONGEST_DELAY = 30.0
_BEFORE = 5.0  # seconds from which the service is watched before it is lost


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of processor time of the service for each kind of request, and bytes of memory of an agent."""

    connection: float = 0.0010
    look: float = 0.0002
    word: float = 0.00011
    file: float = 0.00005
    memory: float = 20_000.0


@dataclass(frozen=True, slots=True)
class Loss:
    """How it is lost: for ``away`` seconds; ``cut``: requests get no answer, else they fail at once."""

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


def first_delay(pace: float) -> float:
    """Return the bound of the first delay of an agent that the service hears at this pace."""
    return max(0.2, pace - 2.0)


def come_back(loss: Loss, costs: Costs, seed: int = 0) -> Return:
    """Play one loss through."""
    chance = random.Random(seed)
    pace = pace_for(loss.use, loss.agents)
    returning = costs.look + costs.word + loss.files * costs.file + costs.connection
    busy: Counter[int] = Counter()  # microseconds of work, by second
    asked: Counter[int] = Counter()
    failures = [0] * loss.agents
    back: list[float] = []
    lost_at = _BEFORE
    back_at = lost_at + loss.away
    free_at, failed = 0.0, 0
    events = [(chance.uniform(0, pace), agent) for agent in range(loss.agents)]
    heapq.heapify(events)
    knows = [True] * loss.agents
    told_again = [False] * loss.agents
    while len(back) < loss.agents:
        now, agent = heapq.heappop(events)
        is_away = lost_at <= now < back_at
        wait = max(0.0, free_at - now)
        asked[int(now)] += not is_away
        if is_away or wait > TIME_OUT:
            failed += now >= back_at
            knows[agent] = False
            bound = min(LONGEST_DELAY, first_delay(pace) * 2 ** min(failures[agent], 16))
            failures[agent] += 1
            noticed = now + (TIME_OUT if loss.cut or not is_away else 0.0)
            heapq.heappush(events, (noticed + chance.uniform(0, bound), agent))
            continue
        work = costs.word if knows[agent] else returning
        free_at = now + wait + work
        busy[int(free_at)] += round(work * 1e6)
        if now >= back_at and not told_again[agent]:
            told_again[agent] = True
            back.append(0.0 if knows[agent] else free_at - back_at)
        knows[agent], failures[agent] = True, 0
        heapq.heappush(events, (now + pace, agent))
    back.sort()
    after = range(int(back_at), int(back_at + back[-1]) + 1)
    return Return(
        median=back[len(back) // 2],
        late=back[int(len(back) * 0.99)],
        last=back[-1],
        usual=sum(busy[second] for second in range(1, int(lost_at))) / 1e6 / (int(lost_at) - 1),
        busiest=max(busy[second] for second in after) / 1e6,
        most=max(asked[second] for second in after),
        failed=failed,
        memory_mb=loss.agents * costs.memory / 1e6,
    )
