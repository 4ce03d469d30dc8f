"""The service's decision where several decide side by side and tell each other now and then.

Each decider sees the monitor, all placements as they were when the ledger was last shared, and its own
since.  The best of all would be everybody's best at once.  Two ways out of that:

* ``ours``: the service's prediction, and its rule for several deciders
  (:func:`ses_service.ranking.spread`), told that ``lambda age`` files were placed by others since the ledger
  was shared, and which files they had open then.  Lots go by the rank of the decider's name
  (:func:`ses_service.ranking.lot_among`), as where all have heard of all.
* ``ours-few``: ``decide`` about a few elements drawn in proportion to capability, ``d = clamp(round(2 M
  / (lambda age)), 2, 8)`` of ``M`` (section 4 of the design; Mitzenmacher, IEEE TPDS 2000), as an agent
  does that is cut off.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace

import numpy as np
from ses_service.beside import others_of
from ses_service.columns import Codes, Floats, observation_table, read_parts
from ses_service.evaluation import Offers
from ses_service.health import learned
from ses_service.ledger import Ledger, LedgerCounts
from ses_service.model import Kind, Subject
from ses_service.placement import EndReason, Placement
from ses_service.question import Question, View
from ses_service.ranking import lot_among, order_of_own, spread, still_open
from ses_service.selection import decide

from ses_simulate.monitor import Sample
from ses_simulate.policies.interface import File, Policy, World
from ses_simulate.site import observations, policies_for, requirements, table_of

FOREVER = float("inf")
FEWEST, MOST = 2, 8
RATE_MEMORY = 0.1  # how much the last interval counts in the arrival rate


@dataclass(frozen=True, slots=True)
class _Told:
    """The files that were open when the ledger was shared: when each began, its row and its decider."""

    began: Floats
    row: Codes
    decider: Codes

    @classmethod
    def of(cls, files: Collection[tuple[float, int, int]]) -> _Told:
        began, row, decider = zip(*files, strict=True) if files else ((), (), ())
        return cls(np.array(began), np.array(row, dtype=np.int64), np.array(decider, dtype=np.int64))

    def doubted(self, decider: int, shared_at: float, age: float, size: int) -> Floats:
        """Return per row how many of the files of others may be gone, each by its chance."""
        gone = 1.0 - still_open(shared_at - self.began, age)
        gone[self.decider == decider] = 0.0
        return np.bincount(self.row, gone, minlength=size).astype(np.float64)


class OursApart(Policy):
    """Deciders with a ledger they share every ``shared_every`` seconds; 0: with each sample."""

    def __init__(self, world: World, few: bool = False) -> None:
        self._few = few
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
        self._open = np.zeros((world.deciders, len(self._table)))
        names = [f"{decider:016x}" for decider in range(world.deciders)]
        self._orders = [
            order_of_own(self._table.write_capability, lot_among(name, names[:number] + names[number + 1 :]))
            for number, name in enumerate(names)
        ]
        self._told = _Told.of(())
        self._open_files: dict[int, tuple[float, int, int]] = {}
        self._shared_at = 0.0
        self._rate = 0.0
        world.engine.at(0.0, self._share)

    def choose(self, now: float, file: File) -> int:
        """Choose as the file's decider sees it, and book that."""
        own = self._own[file.decider]
        view = View(self._table, self._observations, _sum(self._ledger.counts, own))
        row = self._few_of(now, file, view) if self._few else self._drawn(now, file.decider, view)
        placement = Placement(
            placement_id=str(file.number),
            subject=Subject(file.user),
            element=self._table.elements[row],
            backend="mergerfs",
            distance=0.0,
            booked_at=now,
            lease_until=FOREVER,
        )
        self._pending.append((now, file, placement))
        self._open[file.decider, row] += 1
        own.open_now[row] += 1
        own.since[row] += 1
        own.booked_last[row] = now
        return row

    def _drawn(self, now: float, decider: int, view: View) -> int:
        share = Offers.of_all(view, now, self._policies).value(Kind.CURRENT_WRITE_RATE)
        capability = self._table.write_capability
        age = now - self._shared_at
        own = self._open[decider]
        carried = np.maximum(0.0, view.counts.open_now - own)
        doubted = self._told.doubted(decider, self._shared_at, age, len(own))
        others = others_of(capability / share - 1.0, own, carried, doubted)
        return spread(self._orders[decider], own, others, capability, self._rate * age)

    def _few_of(self, now: float, file: File, view: View) -> int:
        placed = max(1e-9, self._rate * (now - self._shared_at))
        count = min(MOST, max(FEWEST, round(2 * len(self._ids) / placed)))
        drawn: dict[int, None] = {}
        while len(drawn) < min(count, len(self._ids)):
            drawn[self._random.choices(range(len(self._ids)), self._rates)[0]] = None
        question = Question(
            Subject(file.user),
            self._requirements,
            exclude=frozenset(self._ids) - {self._ids[element] for element in drawn},
            limit=1,
            seed=file.number,
        )
        chosen = decide(question, view, now, self._policies).candidates[0]
        return self._table.index[chosen.element.id]

    def observe(self, now: float, sample: Sample) -> None:
        """Hand the sample to every decider."""
        seen = observation_table(self._table, observations(self._table, sample))
        self._observations = learned(seen, self._observations, self._policies)
        reference = self._observations.sampled_at - self._policies.rate_window / 2
        self._ledger.observe(reference, now, read_parts(self._observations))

    def closed(self, now: float, file: File, element: int) -> None:
        """Let the decider know; the others hear of it when the ledger is shared."""
        self._pending.append((now, file, None))
        own = self._own[file.decider]
        self._open[file.decider, element] -= 1
        own.open_now[element] -= 1
        if own.since[element] > 0:
            own.since[element] -= 1
        else:
            own.ended[element] += 1

    def _share(self, now: float) -> None:
        """Enter what every decider placed and saw end since the last time."""
        self._ledger.expire(now)
        came = sum(placement is not None for _, _, placement in self._pending)
        for moment, file, placement in self._pending:
            if placement is not None:
                self._ledger.book(placement)
                row = self._table.index[placement.element.id]
                self._open_files[file.number] = moment, row, file.decider
            else:
                self._ledger.end(str(file.number), EndReason.CLOSED, moment, file.size)
                del self._open_files[file.number]
        self._told = _Told.of(self._open_files.values())
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
    columns["booked_last"] = np.maximum(one.booked_last, other.booked_last)
    return replace(one, **{name: np.maximum(0.0, column) for name, column in columns.items()})
