"""Workflow executions: tasks that read what others wrote, compute, and write.

The shapes (how many tasks of which kind, what they read and write, how long they compute) follow the
Epigenomics, 1000Genome, SRA Search and Montage executions of WfCommons WfInstances (Coleman et al., Future
Generation Computer Systems 128, 2022; https://github.com/wfcommons/WfInstances), of which no file is kept
here: numbers are rounded, sizes are scaled so that storage matters, and sizes and times scatter at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TypeAlias

from ses_simulate.cases.scenario import Scenario
from ses_simulate.elements import RATE
from ses_simulate.engine import Engine
from ses_simulate.policies.interface import File
from ses_simulate.servers import Server

GB = 1e9
Then: TypeAlias = Callable[[float, int], object]
Create: TypeAlias = Callable[[float, File, Then], object]
SCATTER = 0.3  # of the logarithm of sizes and times


@dataclass(slots=True, eq=False)
class _Task:
    """One task; ``reads`` are tasks whose files it reads, ``writes`` the bytes of its files."""

    compute: float
    writes: list[float]
    reads: list[_Task]
    readers: list[_Task] = field(default_factory=list)
    missing: int = 0
    places: list[tuple[int, float]] = field(default_factory=list)
    earliest: float = 0.0  # its end where storage is idle and every task has a node


def _lanes(task: _Make, lanes: int, parts: int) -> None:
    """Epigenomics: a lane is split; four steps for each part; merged by lane, then all."""
    merged = []
    for _ in range(lanes):
        split = task(5.0, [0.8] * parts, [])
        ends = []
        for _ in range(parts):
            step = split
            for compute, size in ((5.0, 0.8), (5.0, 0.6), (2.0, 0.15), (35.0, 0.08)):
                step = task(compute, [size], [step])
            ends.append(step)
        merged.append(task(6.0, [0.08 * parts], ends))
    task(15.0, [0.3 * lanes], [task(10.0, [0.08 * parts * lanes], merged)])


def _chromosomes(task: _Make, chromosomes: int, parts: int) -> None:
    """1000Genome: parts of a chromosome, merged and sifted, then two analyses for each of 7 populations."""
    for _ in range(chromosomes):
        individuals = [task(30.0, [0.5], []) for _ in range(parts)]
        both = [task(25.0, [0.5 * parts], individuals), task(3.0, [0.3], [])]
        for _ in range(7):
            task(6.0, [0.4], both)
            task(30.0, [0.8], both)


def _accessions(task: _Make, accessions: int) -> None:
    """SRA Search: two files are fetched for each accession, and read by one search."""
    task(20.0, [0.05], [task(20.0, [0.05], [task(60.0, [3.0, 3.0], [])]) for _ in range(accessions)])


def _images(task: _Make, images: int) -> None:
    """Montage: images are projected, compared in pairs, corrected, and added."""
    projected = [task(10.0, [1.0, 1.0], []) for _ in range(images)]
    compared = [
        task(1.0, [0.01], [projected[index], projected[(index + step) % images]])
        for index in range(images)
        for step in (1, 2)
    ]
    model = task(2.0, [0.01], compared)
    corrected = [task(1.0, [1.0, 1.0], [entry, model]) for entry in projected]
    task(5.0, [0.5 * images, 0.5 * images], corrected)


class _Make:
    """Makes the tasks of one execution."""

    def __init__(self, random: Random) -> None:
        self.tasks: list[_Task] = []
        self._random = random

    def __call__(self, compute: float, writes: Sequence[float], reads: Sequence[_Task]) -> _Task:
        """Return a task that computes so many seconds and writes so many GB, about."""
        scatter = partial(self._random.lognormvariate, 0.0, SCATTER)
        task = _Task(compute * scatter(), [size * GB * scatter() for size in writes], list(reads))
        task.missing = len(task.reads)
        moved = sum(task.writes)
        for read in task.reads:
            read.readers.append(task)
            moved += sum(read.writes)
        ready = max((read.earliest for read in task.reads), default=0.0)
        task.earliest = ready + task.compute + moved / RATE
        self.tasks.append(task)
        return task


SHAPES: Sequence[Callable[[_Make], None]] = (
    partial(_lanes, lanes=3, parts=12),
    partial(_chromosomes, chromosomes=3, parts=12),
    partial(_accessions, accessions=20),
    partial(_images, images=20),
)


class Workflows:
    """Executions that come at random until they wrote so many files; tasks wait for a free node.

    Executions are of all shapes in turn.  Each task runs on a node of its own, reads its inputs one after
    the other, computes, and writes its files one after the other.
    """

    def __init__(
        self,
        engine: Engine,
        scenario: Scenario,
        random: Random,
        servers: Sequence[Server],
        create: Create,
        finish: Callable[[Sequence[float]], object],
    ) -> None:
        self._engine = engine
        self._servers = servers
        self._create = create
        self._finish = finish
        self._free = list(range(scenario.nodes))
        self._waiting: list[Callable[[float, int], object]] = []
        self._files = 0
        self._running = 0
        self._slowdowns: list[float] = []
        able = scenario.rho * sum(server.device.write_rate * server.device.health for server in servers)
        begin, number = 0.0, 0
        while self._files < scenario.files:
            make = _Make(random)
            SHAPES[number % len(SHAPES)](make)
            number += 1
            self._files += sum(len(task.writes) for task in make.tasks)
            self._running += 1
            moved = sum(sum(task.writes) * (1 + len(task.readers)) for task in make.tasks)
            begin += random.expovariate(able / moved)
            engine.at(begin, partial(self._start, make.tasks, f"user{number % 8}"))
        self._numbered = 0

    def _start(self, tasks: list[_Task], user: str, now: float) -> None:
        left = len(tasks)
        alone = max(task.earliest for task in tasks)

        def done(task: _Task, then: float) -> None:
            nonlocal left
            left -= 1
            for reader in task.readers:
                reader.missing -= 1
                if not reader.missing:
                    self._queue(reader, user, done, then)
            if not left:
                self._slowdowns.append((then - now) / alone)
                self._running -= 1
                if not self._running:
                    self._finish(self._slowdowns)

        for task in [entry for entry in tasks if not entry.missing]:
            self._queue(task, user, done, now)

    def _queue(self, task: _Task, user: str, done: Callable[[_Task, float], object], now: float) -> None:
        run = partial(self._run, task, user, done)
        if self._free:
            run(now, self._free.pop(0))
        else:
            self._waiting.append(run)

    def _run(
        self, task: _Task, user: str, done: Callable[[_Task, float], object], now: float, node: int
    ) -> None:
        inputs = [place for read in task.reads for place in read.places]
        outputs = list(task.writes)

        def read(then: float) -> None:
            if inputs:
                element, size = inputs.pop()
                self._servers[element].read(size, read)
            else:
                self._engine.at(then + task.compute, write)

        def write(then: float) -> None:
            if not outputs:
                self._freed(node, then)
                done(task, then)
                return
            size = outputs.pop(0)
            self._numbered += 1

            def written(later: float, element: int) -> None:
                task.places.append((element, size))
                write(later)

            self._create(then, File(self._numbered, size, user, node), written)

        read(now)

    def _freed(self, node: int, now: float) -> None:
        if self._waiting:
            self._waiting.pop(0)(now, node)
        else:
            self._free.append(node)
