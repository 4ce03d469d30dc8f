"""What runs: the read, compute, write loops of the QStorMan paper, open files, background streams."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from ses_simulate.engine import Engine
from ses_simulate.policies.interface import File, Policy
from ses_simulate.servers import Server

GB = 1e9


@dataclass(slots=True)
class Numbering:
    """Gives every file a number of its own."""

    last: int = 0

    def __call__(self) -> int:
        """Return the next number."""
        self.last += 1
        return self.last


class LoopingUser:
    """One user of the paper: for each size, read what was written before, compute, write a new file.

    Reads as many bytes as it writes; the first input lies on ``start_element``.  ``compute`` is
    seconds per GB, to which up to ``scatter`` is added: programs that once wrote to one element side by side
    would else go on at the same moments for ever.  ``number`` is the user's, who works on ``node``.
    ``took`` is the run time in seconds once the loop is done, ``nan`` before.
    """

    def __init__(
        self,
        engine: Engine,
        servers: Sequence[Server],
        policy: Policy,
        number: int,
        node: int,
        sizes: Sequence[float],
        compute: float,
        scatter: float,
        start_element: int,
        numbering: Numbering,
        finished: Callable[[], object],
        random: Random,
    ) -> None:
        self._random = random
        self.took = math.nan
        self._engine = engine
        self._servers = servers
        self._policy = policy
        self._user = f"user{number}"
        self._node = node
        self._sizes = sizes
        self._compute = compute
        self._scatter = scatter
        self._element = start_element
        self._written: File | None = None
        self._numbering = numbering
        self._finished = finished
        self._done = 0
        self._started = 0.0

    def start(self, now: float) -> None:
        """Begin."""
        self._started = now
        self._read(now)

    def _read(self, now: float) -> None:
        if self._done == len(self._sizes):
            self.took = now - self._started
            self._finished()
            return
        if self._written is not None:
            self._policy.reading(now, self._written, self._element)
        self._servers[self._element].read(self._sizes[self._done], self._think)

    def _think(self, now: float) -> None:
        if self._written is not None:
            self._policy.read(now, self._written, self._element)
        computes = self._compute * self._sizes[self._done] / GB + self._random.random() * self._scatter
        self._engine.at(now + computes, self._write)

    def _write(self, now: float) -> None:
        size = self._sizes[self._done]
        file = File(self._numbering(), size, self._user, self._node)
        element = self._element = self._policy.choose(now, file)

        def written(then: float) -> None:
            self._policy.closed(then, file, element)
            self._written = file
            self._done += 1
            self._read(then)

        self._servers[element].write(size, written)


class Background:
    """Streams of others on one element: they come at random and are placed by nobody.

    ``load`` is the part of the element they would keep busy by themselves; sizes are exponential with
    mean ``mean`` bytes, a part ``reads`` of them read.  A run begins in the middle of their life: with
    as many streams as processor sharing holds in the long run (``n`` with probability
    ``(1 - load) load^n``), each as long again as any, for exponential sizes do not age.
    """

    def __init__(
        self, engine: Engine, server: Server, load: float, mean: float, reads: float, random: Random
    ) -> None:
        self._engine = engine
        self._server = server
        self._mean = mean
        self._reads = reads
        self._random = random
        reading = reads / server.device.read_rate
        work = reading + (1 - reads) / server.device.write_rate
        self._gap = mean * work / load if load > 0 else math.inf
        if load > 0:
            while random.random() < load:
                self._begin(reading / work)
            engine.at(random.expovariate(1 / self._gap), self._arrive)

    def _begin(self, reads: float) -> None:
        size = self._random.expovariate(1 / self._mean)
        if self._random.random() < reads:
            self._server.read(size, _nothing)
        else:
            self._server.write(size, _nothing)

    def _arrive(self, now: float) -> None:
        self._begin(self._reads)
        self._engine.at(now + self._random.expovariate(1 / self._gap), self._arrive)


def _nothing(_now: float) -> None:
    """Let a stream of the background end unnoticed."""
