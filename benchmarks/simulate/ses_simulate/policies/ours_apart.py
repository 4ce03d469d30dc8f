"""The service's decision where several decide side by side and tell each other now and then.

Each decider sees the monitor, all placements as they were when the ledger was last shared, and its own
since.  The best of all would be everybody's best at once, so each asks the decision about a few elements
only, drawn at random in proportion to capability: ``d = clamp(round(2 M / (lambda age)), 2, 8)`` of
``M`` elements, where ``lambda age`` files were placed by all since the ledger was shared (section 4 of
the design; compare Mitzenmacher, IEEE TPDS 2000).
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from ses_service.columns import observation_table
from ses_service.health import learned
from ses_service.ledger import Ledger, LedgerCounts
from ses_service.model import Subject
from ses_service.placement import EndReason, Placement
from ses_service.question import Question, View
from ses_service.selection import decide

from ses_simulate.monitor import Sample
from ses_simulate.policies.interface import File, Policy, World
from ses_simulate.site import observations, policies_for, requirements, table_of

FOREVER = float("inf")
FEWEST, MOST = 2, 8
RATE_MEMORY = 0.1  # how much the last interval counts in the arrival rate


class OursApart(Policy):
    """Deciders with a ledger they share every ``shared_every`` seconds; 0: with each sample."""

    def __init__(self, world: World) -> None:
        self._policies = policies_for(world.sampling)
        self._table = table_of(world.devices)
        self._requirements = requirements(world.reads, world.writes)
        self._ids = [element.id for element in self._table.elements]
        self._rates = [device.write_rate for device in world.devices]
        self._random = world.random("ours apart")
        self._engine = world.engine
        self._every = world.shared_every or world.sampling.interval
        self._observations = observation_table(self._table, ())
        self._ledger = Ledger(self._policies)
        self._ledger.bind(self._table, self._observations.sampled_at, 0.0)
        self._pending: list[tuple[float, File, Placement | None]] = []
        self._own = [LedgerCounts.zeros(len(self._table)) for _ in range(world.deciders)]
        self._shared_at = 0.0
        self._rate = 0.0
        world.engine.at(0.0, self._share)

    def choose(self, now: float, file: File) -> int:
        """Ask ``decide`` about a few elements, as the file's decider sees them, and take its first."""
        drawn = self._draw(now)
        question = Question(
            Subject(file.user),
            self._requirements,
            exclude=frozenset(self._ids) - {self._ids[element] for element in drawn},
            limit=1,
            seed=file.number,
        )
        view = View(self._table, self._observations, _sum(self._ledger.counts, self._own[file.decider]))
        chosen = decide(question, view, now, self._policies).candidates[0]
        placement = Placement(
            placement_id=str(file.number), subject=Subject(file.user), element=chosen.element,
            backend="lustre", distance=chosen.distance, booked_at=now, lease_until=FOREVER,
        )  # fmt: skip
        self._pending.append((now, file, placement))
        row = self._table.index[chosen.element.id]
        own = self._own[file.decider]
        own.open_now[row] += 1
        own.since[row] += 1
        own.placed[row] += self._policies.assumed_bytes
        return row

    def observe(self, now: float, sample: Sample) -> None:
        """Hand the sample to every decider."""
        seen = observation_table(self._table, observations(self._table, sample))
        self._observations = learned(seen, self._observations, self._policies)
        self._ledger.observe(self._observations.sampled_at - self._policies.rate_window / 2, now)

    def closed(self, now: float, file: File, element: int) -> None:
        """Let the decider know; the others hear of it when the ledger is shared."""
        self._pending.append((now, file, None))
        own = self._own[file.decider]
        own.open_now[element] -= 1
        if own.since[element] > 0:
            own.since[element] -= 1
        else:
            own.ended[element] += 1

    def _draw(self, now: float) -> list[int]:
        placed = max(1e-9, self._rate * (now - self._shared_at))
        count = min(MOST, max(FEWEST, round(2 * len(self._ids) / placed)))
        drawn: dict[int, None] = {}
        while len(drawn) < min(count, len(self._ids)):
            drawn[self._random.choices(range(len(self._ids)), self._rates)[0]] = None
        return list(drawn)

    def _share(self, now: float) -> None:
        """Enter what every decider placed and saw end since the last time."""
        came = sum(placement is not None for _, _, placement in self._pending)
        for moment, file, placement in self._pending:
            if placement is not None:
                self._ledger.book(placement)
            else:
                self._ledger.end(str(file.number), EndReason.CLOSED, moment, file.size)
        self._pending.clear()
        for own in self._own:
            for one in fields(own):
                getattr(own, one.name).fill(0.0)
        if now > self._shared_at:
            seen = came / (now - self._shared_at)
            self._rate = seen if self._rate == 0 else (1 - RATE_MEMORY) * self._rate + RATE_MEMORY * seen
        self._shared_at = now
        self._engine.at(now + self._every, self._share)


def _sum(one: LedgerCounts, other: LedgerCounts) -> LedgerCounts:
    columns = {each.name: getattr(one, each.name) + getattr(other, each.name) for each in fields(one)}
    return replace(one, **{name: np.maximum(0.0, column) for name, column in columns.items()})
