"""What monitoring costs the file system it watches: what programs do with SMED running, and with it stopped.

On branches whose speed nothing limits, so that the processors are short, as on a busy server, programs
create, write, sync, read and remove files without pause.  In slices that take turns by chance, exporter and
monitor run, or stand still (SIGSTOP).  What they take from the programs is the overhead.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.site import INTERVAL_SECONDS

from ses_experiment.machine import load, machine, processor_seconds, settings
from ses_experiment.site import Shape, stand_up
from ses_experiment.writers import Programs

_RATE = 4000  # MB/s, which nothing reaches here
_PARTS = ("node_exporter", "smed-monitor")
_SETTLE_SECONDS = 0.3  # between two slices: what was begun before ends
# Arguments: directory, bytes of a file, file for the number of files done.
_WORKER = """
import mmap, os, sys
place, size, counter = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], "r+b")
done, block = mmap.mmap(counter.fileno(), 8), bytes(int(sys.argv[2]))
number = 0
while True:
    path = f"{place}/{number % 64}"
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    os.write(file, block)
    os.fsync(file)
    os.pread(file, size, 0)
    os.close(file)
    os.unlink(path)
    number += 1
    done[:] = number.to_bytes(8, "little")
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run: ``slices`` pairs of ``seconds`` each, by ``programs``, files of ``kib`` KiB."""

    slices: int = 60
    seconds: float = 1.0
    programs: int = 4
    kib: int = 256
    seed: int = 1
    build: Path | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """Files a second with the monitor and without it, one right after the other.

    ``processor``: the part of one that exporter and monitor took while they ran.
    """

    watched: float
    alone: float
    processor: float
    load: float

    @property
    def lost(self) -> float:
        """The part of its work that the file system lost to the monitor; raises DemoError."""
        if not self.alone:
            raise DemoError("The programs did nothing in a slice of a second: too much else runs here.")
        return 1 - self.watched / self.alone


def measure(
    plan: Plan, interrupts: Interrupts, progress: Callable[[str], None]
) -> tuple[list[Slice], dict[str, Any]]:
    """Run all slices and undo everything that was made, however it ends; raises DemoError, StoppedError.

    Returns the slices, and what is known of settings and machine.
    """
    on, chance = machine(), Random(plan.seed)
    known = settings(plan, interval_seconds=INTERVAL_SECONDS)
    slices = []
    with interrupts.undoing(progress) as undo:
        stand = stand_up(Shape(read_rate=_RATE, write_rate=_RATE, capacity=100), [], plan.build, undo,
                         interrupts, progress)  # fmt: skip
        running = undo.enter_context(Programs(stand.work, interrupts))
        counters = []
        for user in range(plan.programs):
            counter = stand.work / f"done-{user}"
            counter.write_bytes(bytes(8))
            counter.chmod(0o666)
            counters.append(counter)
            place = stand.storage.union / stand.home("smed", user)
            words = [str(place), str(plan.kib << 10), str(counter)]
            running.start(["python3", "-I", "-c", _WORKER, *words], user, {}, stand.work)

        pids = [stand.services.processes.pid(name) for name in _PARTS]

        def watch(go_on: bool) -> None:
            for pid in pids:
                os.kill(pid, signal.SIGCONT if go_on else signal.SIGSTOP)

        undo.callback(watch, True)

        def files(watched: bool) -> float:
            watch(watched)
            interrupts.pause(_SETTLE_SECONDS)
            before = [int.from_bytes(counter.read_bytes(), "little") for counter in counters]
            interrupts.pause(plan.seconds)
            running.check()
            after = [int.from_bytes(counter.read_bytes(), "little") for counter in counters]
            return (sum(after) - sum(before)) / plan.seconds

        for number in range(1, plan.slices + 1):
            progress(f"slice {number} of {plan.slices}")
            used = sum(map(processor_seconds, pids))
            done = {watched: files(watched) for watched in chance.sample((True, False), 2)}
            used = sum(map(processor_seconds, pids)) - used
            took = used / (plan.seconds + _SETTLE_SECONDS)
            slices.append(Slice(done[True], done[False], took, load()))
    return slices, {"settings": known, "machine": on}
