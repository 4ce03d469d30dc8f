"""Scenarios that tell placement rules apart: old samples, bursts, strangers, slow elements, many deciders.

Elements of 500 MB/s, with nothing on them at first.  A file is written from its creation to its end by
one writer that takes all it gets.  What is measured is slowdown: how long a file took, over how long
it takes alone on an idle element of full speed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

from ses_simulate.engine import Engine
from ses_simulate.monitor import Monitor, Sampling
from ses_simulate.policies import make
from ses_simulate.policies.interface import File, Policy, World
from ses_simulate.scenarios import SCENARIOS, Scenario
from ses_simulate.servers import Device, Server
from ses_simulate.statistics import percentile

RATE = 500e6
ELEMENTS_PER_MACHINE = 8


@dataclass(frozen=True, slots=True)
class Run:
    """One run: a scenario by name, a rule, a seed; ``files`` 0 for as many as the scenario says."""

    scenario: str
    policy: str
    seed: int
    files: int = 0


@dataclass(frozen=True, slots=True)
class Slowdowns:
    """Over all files of a run, and over those the rule placed."""

    mean: float
    p99: float
    managed: float


def simulate(run: Run) -> Slowdowns:
    """Run one scenario until every file is written.  The same run gives the same numbers."""
    scenario = SCENARIOS[run.scenario]
    if run.files:
        scenario = replace(scenario, files=run.files)
    return _Stage(scenario, run).play()


class _Stage:
    """Everything one run needs, and the happenings that make it go."""

    def __init__(self, scenario: Scenario, run: Run) -> None:
        self._scenario = scenario
        self._engine = Engine()
        sampling = Sampling(
            interval=scenario.interval, depth=scenario.depth, long_window=30 * scenario.interval
        )
        plain = World(self._engine, (), (), sampling, run.seed)
        self._arrivals = plain.random("arrivals")
        self._sizes = plain.random("sizes")
        self._lots = plain.random("lots")
        devices = _devices(scenario)
        self._servers = [Server(self._engine, device) for device in devices]
        world = replace(
            plain, devices=devices, servers=self._servers, deciders=scenario.deciders,
            shared_every=scenario.shared_every,
        )  # fmt: skip
        self._policy = make(run.policy, world)
        self._others = make("random", replace(world, role="others", deciders=1))
        Monitor(self._engine, self._servers, sampling, [self._policy.observe])
        self._mu = math.log(scenario.mean) - scenario.sigma**2 / 2
        self._gap = (
            scenario.burst
            * scenario.mean
            / (scenario.rho * sum(one.write_rate * one.health for one in devices))
        )
        self._numbered = 0
        self._slowdowns: list[float] = []
        self._managed: list[float] = []

    def play(self) -> Slowdowns:
        """Let it run to the end."""
        self._engine.at(self._arrivals.expovariate(1 / self._gap), self._arrive)
        self._engine.run()
        return Slowdowns(
            mean=math.fsum(self._slowdowns) / len(self._slowdowns),
            p99=percentile(self._slowdowns, 0.99),
            managed=math.fsum(self._managed) / max(1, len(self._managed)),
        )

    def _arrive(self, now: float) -> None:
        files = [
            self._file() for _ in range(min(self._scenario.burst, self._scenario.files - self._numbered))
        ]
        managed = self._scenario.managed >= 1.0 or self._lots.random() < self._scenario.managed
        policy = self._policy if managed else self._others
        for file, element in zip(files, policy.deal(now, files), strict=True):
            ended = partial(self._written, policy, file, element, now)
            self._servers[element].write(file.size, ended)
        if self._numbered < self._scenario.files:
            self._engine.at(now + self._arrivals.expovariate(1 / self._gap), self._arrive)

    def _file(self) -> File:
        self._numbered += 1
        return File(
            self._numbered,
            self._sizes.lognormvariate(self._mu, self._scenario.sigma),
            decider=self._lots.randrange(self._scenario.deciders),
        )

    def _written(self, policy: Policy, file: File, element: int, created: float, now: float) -> None:
        slowdown = (now - created) * RATE / file.size
        self._slowdowns.append(slowdown)
        if policy is self._policy:
            self._managed.append(slowdown)
        if self._scenario.idle and self._lots.random() < self._scenario.idle:
            self._engine.at(now + self._scenario.idle_seconds, partial(self._close, policy, file, element))
        else:
            policy.closed(now, file, element)
        if len(self._slowdowns) == self._scenario.files:
            self._engine.stop()

    def _close(self, policy: Policy, file: File, element: int, now: float) -> None:
        policy.closed(now, file, element)


def _devices(scenario: Scenario) -> list[Device]:
    slow = round(scenario.slow * scenario.elements)
    devices = []
    for element in range(scenario.elements):
        # Slow ones lie evenly between the others.
        is_slow = (element * slow) // scenario.elements != ((element + 1) * slow) // scenario.elements
        speed = scenario.slow_speed if is_slow else 1.0
        rate = RATE * (speed if scenario.slow_known else 1.0)
        devices.append(
            Device(rate, rate, health=1.0 if scenario.slow_known else speed, loss=scenario.loss,
                   group=element // ELEMENTS_PER_MACHINE)
        )  # fmt: skip
    return devices
