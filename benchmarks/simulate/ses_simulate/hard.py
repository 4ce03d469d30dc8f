"""Scenarios that tell placement rules apart: old samples, bursts, strangers, slow elements, many nodes.

Elements of 500 MB/s unless said, with nothing on them at first.  A file is written from its creation to its
end by one writer that takes all it gets.  What is measured is slowdown: how long a file took, over how long
it takes alone on the fastest element, idle and of full speed; and attainment, where files ask for a rate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate

from ses_core import Kind

from ses_simulate.attainment import Attained, Attainment
from ses_simulate.cases.scenario import Scenario
from ses_simulate.elements import RATE, devices_of, disturb
from ses_simulate.engine import Engine, Happening
from ses_simulate.monitor import Monitor, Sampling
from ses_simulate.policies import make
from ses_simulate.policies.interface import File, Policy, World
from ses_simulate.scenarios import SCENARIOS
from ses_simulate.servers import Server
from ses_simulate.statistics import percentile
from ses_simulate.strangers import OldFiles, Stranger
from ses_simulate.workflows import Then, Workflows

LARGEST = 50.0  # times the mean, where sizes are Pareto


@dataclass(frozen=True, slots=True)
class Run:
    """One run: a scenario by name, a rule, a seed; ``files`` 0 for as many as the scenario says."""

    scenario: str
    policy: str
    seed: int
    files: int = 0


@dataclass(frozen=True, slots=True)
class Slowdowns:
    """Over all files of a run; ``managed`` over those the rule placed.

    ``last`` is the mean over bursts of the time until the last file of one was written (over workflows:
    until all was done), over the time that takes alone; nan where files come singly.  ``crowd`` is
    the mean number of files on the element of a burst that has most.  ``no_room`` counts files of a
    thousand that found no room though another element had it.
    """

    mean: float
    p95: float
    p99: float
    managed: float
    last: float = math.nan
    crowd: float = math.nan
    no_room: float = 0.0
    attained: Attainment = field(default_factory=Attainment)

    def judged(self, by: str) -> float:
        """Return what a scenario is judged by."""
        return {"mean": self.mean, "last": self.last, "room": self.no_room}[by]


def simulate(run: Run) -> Slowdowns:
    """Run one scenario until every file is written.  The same run gives the same numbers."""
    scenario = SCENARIOS[run.scenario]
    if run.files:
        scenario = replace(scenario, files=run.files)
    return play(scenario, run.policy, run.seed)


def play(scenario: Scenario, policy: str, seed: int) -> Slowdowns:
    """Run a scenario that need not have a name."""
    return _Stage(scenario, policy, seed).play()


@dataclass(slots=True)
class _Burst:
    """Files created at one moment."""

    begun: float
    left: int
    alone: float
    places: Counter[int] = field(default_factory=Counter)


class _Stage:
    """Everything one run needs, and the happenings that make it go."""

    def __init__(self, scenario: Scenario, policy: str, seed: int) -> None:
        self._scenario = scenario
        self._engine = Engine()
        plain = World(self._engine, (), (), Sampling(1.0), seed)
        self._arrivals, self._chances = plain.random("arrivals"), plain.random("lots")
        self._sizes = _sizes(scenario, plain)
        devices = devices_of(scenario, plain, math.fsum(self._sizes))
        self._servers = [Server(self._engine, device) for device in devices]
        able = disturb(self._engine, scenario, plain, self._servers)
        self._gap = scenario.burst * scenario.mean / (scenario.rho * able)
        length = self._gap * scenario.files / scenario.burst
        sampling = Sampling(
            interval=scenario.interval, delay=scenario.delay, depth=scenario.depth,
            long_window=30 * scenario.interval, constant=scenario.constant,
            away=(scenario.away * length, math.inf) if scenario.away < 1 else (math.inf, math.inf),
        )  # fmt: skip
        world = replace(
            plain, devices=devices, servers=self._servers, sampling=sampling, nodes=scenario.nodes,
            pace=scenario.pace, close_poll=scenario.close_poll,
            required=() if scenario.kind is Kind.CURRENT_READ else scenario.needs,
        )  # fmt: skip
        self._policy = make(policy, world)
        self._others, self._union = (
            make(rule, replace(world, role="others", nodes=1)) for rule in ("random", "pfrd")
        )
        Monitor(self._engine, self._servers, sampling, [self._policy.observe])
        for number in range(scenario.strangers):
            Stranger(self._engine, self._servers, scenario.stranger_stays, plain.random(f"stranger {number}"))
        if scenario.old_files:
            OldFiles(self._engine, self._servers, scenario.old_files, plain.random("old files"))
        self._numbered = self._done = 0
        self._total = scenario.files + scenario.rush
        self._weights = list(accumulate(map(partial(_weight, scenario), range(scenario.nodes))))
        self._slowdowns: list[float] = []
        self._managed: list[float] = []
        self._lasts: list[float] = []
        self._crowds: list[int] = []
        self._no_room = 0
        self._full = max(scenario.rates or (RATE,))
        self._attained = Attained()

    def play(self) -> Slowdowns:
        """Let it run to the end."""
        if self._scenario.workflow:
            Workflows(self._engine, self._scenario, self._arrivals, self._servers, self._create, self._finish)
        else:
            self._engine.at(self._arrivals.expovariate(1 / self._gap), self._arrive)
        if self._scenario.rush:
            self._engine.at(self._gap * self._scenario.files / 3, self._rush)
        self._engine.run()
        return Slowdowns(
            mean=math.fsum(self._slowdowns) / len(self._slowdowns),
            p95=percentile(self._slowdowns, 0.95),
            p99=percentile(self._slowdowns, 0.99),
            managed=math.fsum(self._managed) / max(1, len(self._managed)),
            last=math.fsum(self._lasts) / len(self._lasts) if self._lasts else math.nan,
            crowd=sum(self._crowds) / len(self._crowds) if self._crowds else math.nan,
            no_room=1000.0 * self._no_room / self._done,
            attained=self._attained.result(),
        )

    def _finish(self, slowdowns: Sequence[float]) -> None:
        self._lasts.extend(slowdowns)
        self._engine.stop()

    def _arrive(self, now: float) -> None:
        scenario = self._scenario
        count = min(scenario.burst, scenario.files - self._numbered)
        managed = scenario.managed >= 1.0 or self._chances.random() < scenario.managed
        first = self._node()
        files = [self._file(first, number) for number in range(count)]
        burst = None
        if scenario.burst > 1:
            last = now + scenario.spaced * (count - 1)
            burst = _Burst(now, count, last - now + max(file.size for file in files) / self._full)
        for number, file in enumerate(files):
            begin = partial(self._begin, file, managed, burst)
            if scenario.spaced:
                self._engine.at(now + number * scenario.spaced, begin)
            else:
                begin(now)
        if self._numbered < scenario.files:
            gap = self._gap if scenario.regular else self._arrivals.expovariate(1 / self._gap)
            self._engine.at(now + gap, self._arrive)

    def _node(self) -> int:
        scenario = self._scenario
        if not (scenario.zipf or scenario.busiest):
            return self._chances.randrange(scenario.nodes)
        return self._chances.choices(range(scenario.nodes), cum_weights=self._weights)[0]

    def _rush(self, now: float) -> None:
        count, size = self._scenario.rush, self._scenario.rush_size
        burst = _Burst(now, count, size / self._full)
        for number in range(count):
            self._begin(File(self._total - number, size, "rush"), True, burst, now)

    def _file(self, first: int, number: int) -> File:
        scenario = self._scenario
        node = (first + number // scenario.ranks) % scenario.nodes
        turn = first
        if scenario.users:
            turn = number % scenario.users if scenario.burst > 1 else self._chances.randrange(scenario.users)
        ranked = scenario.burst > 1 and not scenario.users and not scenario.unranked
        rank = number if ranked else None
        size = self._sizes[self._numbered]
        self._numbered += 1
        elsewhere = 0 if scenario.nodes == 1 else number - number % scenario.ranks
        writes = scenario.needs[turn % len(scenario.needs)] if scenario.needs else None
        odd = bool(writes) and turn // len(scenario.needs) % 2 == 1
        return File(
            self._numbered, size, f"user{turn}", node, rank, elsewhere, writes,
            kind=scenario.kind, hard=odd and scenario.hard, modest=odd and scenario.modest,
        )  # fmt: skip

    def _begin(self, file: File, managed: bool, burst: _Burst | None, now: float) -> None:
        policy = self._policy if managed else self._others
        element = policy.choose(now, file)
        if element < 0:
            policy = self._union
            element = policy.choose(now, file)
        if burst is not None:
            burst.places[element] += 1
        ended = partial(self._written, policy, file, element, now, burst)
        if file.kind is Kind.CURRENT_READ:
            ended = partial(self._read_back, policy, file, element, burst)
        no_room = partial(self._found_no_room, policy, file, element, burst)
        behind = self._scenario.behind * file.size
        if behind:
            ended = partial(self._write_behind, policy, file, element, behind, ended)
        if file.modest:
            self._take(file, element, file.size, now, ended, now)
        else:
            self._servers[element].write(file.size - behind, ended, no_room)

    def _take(self, file: File, element: int, left: float, due: float, ended: Happening, _now: float) -> None:
        """Write what a second brings at the rate that is asked for, and wait for the next second."""
        assert file.writes
        part = min(left, file.writes)

        def written(then: float) -> None:
            following = partial(self._take, file, element, left - part, due + 1, ended)
            self._engine.at(max(then, due + 1), following)

        self._servers[element].write(part, written if part < left else ended)

    def _read_back(
        self, policy: Policy, file: File, element: int, burst: _Burst | None, began: float
    ) -> None:
        policy.reading(began, file, element)

        def read(now: float) -> None:
            policy.read(now, file, element)
            self._written(policy, file, element, began, burst, now)

        self._servers[element].read(file.size, read)

    def _write_behind(
        self, policy: Policy, file: File, element: int, left: float, ended: Happening, now: float
    ) -> None:
        """Close the file, and let the cache of its node write out the rest; no closed file comes to rest."""
        policy.closed(now, file, element)
        self._servers[element].write(left, ended)

    def _create(self, now: float, file: File, ended: Then) -> None:
        """Create a file of a workflow; ``ended`` is called when it is written."""
        element = self._policy.choose(now, file)
        self._numbered += 1

        def written(then: float) -> None:
            self._slowdowns.append((then - now) * self._full / file.size)
            self._done += 1
            self._policy.written(then, file, element)
            self._policy.closed(then, file, element)
            ended(then, element)

        self._servers[element].write(file.size, written)

    def _written(
        self, policy: Policy, file: File, element: int, created: float, burst: _Burst | None, now: float
    ) -> None:
        slowdown = (now - created) * self._full / file.size
        self._attained.note(file.user, file.writes or 0.0, file.size, now - created)
        self._slowdowns.append(slowdown)
        if policy is self._policy:
            self._managed.append(slowdown)
        if self._scenario.behind:
            self._count(burst, now)
            return
        policy.written(now, file, element)
        if self._scenario.idle and self._chances.random() < self._scenario.idle:
            closed = partial(self._close, policy, file, element)
            self._engine.at(now + self._scenario.idle_seconds, closed)
        else:
            policy.closed(now, file, element)
        self._count(burst, now)

    def _found_no_room(
        self, policy: Policy, file: File, element: int, burst: _Burst | None, now: float
    ) -> None:
        self._no_room += any(
            server.free >= file.size for number, server in enumerate(self._servers) if number != element
        )
        policy.closed(now, file, element)
        self._count(burst, now)

    def _count(self, burst: _Burst | None, now: float) -> None:
        self._done += 1
        if burst is not None:
            burst.left -= 1
            if not burst.left:
                self._lasts.append((now - burst.begun) / burst.alone)
                self._crowds.append(max(burst.places.values()))
        if self._done == self._total:
            self._engine.stop()

    def _close(self, policy: Policy, file: File, element: int, now: float) -> None:
        policy.closed(now, file, element)


def _weight(scenario: Scenario, node: int) -> float:
    if scenario.busiest:
        return (1 - scenario.busiest) / (scenario.nodes - 1) if node else scenario.busiest
    return float((node + 1) ** -scenario.zipf)


def _sizes(scenario: Scenario, world: World) -> list[float]:
    rng = world.random("sizes")
    if scenario.tail:
        least, most = scenario.mean * (scenario.tail - 1) / scenario.tail, LARGEST * scenario.mean
        return [min(most, least * rng.paretovariate(scenario.tail)) for _ in range(scenario.files)]
    mu = math.log(scenario.mean) - scenario.sigma**2 / 2
    sizes = [rng.lognormvariate(mu, scenario.sigma) for _ in range(scenario.files)]
    changed, lots = scenario.large_from * scenario.files, world.random("large")
    return [
        size * (scenario.large if number >= changed or lots.random() < scenario.large_part else 1.0)
        for number, size in enumerate(sizes)
    ]
