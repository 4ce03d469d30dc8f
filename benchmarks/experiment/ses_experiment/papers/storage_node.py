"""The storage node of ORCA's experiment: its processor, what it did from moment to moment, its other service.

What runs near is in a control group of cgroup v1, which counts its processor time and can have a quota of one
processor.  The other service reads from a disk of its own, as a file server does for others.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ses.demo.faults import DemoError
from ses.demo.processes import started

from ses_experiment import groups, network
from ses_experiment.remote_storage import RemoteStorage

_CONTROLLERS = ("cpu", "cpuacct")
_SAMPLE_SECONDS = 0.1
_END_SECONDS = 10
_READ = 1 << 16


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of storage node: MB/s of a disk, and what a processor of it is of one here."""

    disk_rate: float
    processor: float | None


KINDS = {"alike": Kind(107, None), "unlike": Kind(130, 0.33)}
"""Type I of the paper's Table II, as the clients are, and Type II: a faster disk and a slower processor."""


@dataclass(slots=True)
class Series:
    """From moment to moment, in seconds since the beginning: MB sent so far, processor seconds so far."""

    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


class StorageNode:
    """The node of a stand.  Undone by the stack it is made with."""

    def __init__(self, stand: RemoteStorage, group: str, undo: ExitStack) -> None:
        """Raises DemoError."""
        self._stand, self._group = stand, group
        self.counted = groups.available(_CONTROLLERS)
        if self.counted:
            groups.make(group, _CONTROLLERS, undo)
        self._inside = started([*network.inside(stand.storage), "sleep", "infinity"], undo)

    def become(self, kind: Kind) -> None:
        """Be a node of that kind; raises DemoError without cgroup v1 for a slower one."""
        if kind.processor is not None and not self.counted:
            raise DemoError(f"No control group of cgroup v1 can slow a node down here ({groups.GROUPS}).")
        if self.counted:
            groups.give_processor(self._group, kind.processor)

    def reached_by(self, address: str) -> tuple[str, tuple[str, ...]]:
        """Return the executor that runs programs on the node, and its own command."""
        if not self.counted:
            return "ssh", self._stand.rsh
        return "command", self.entered_by((*self._stand.rsh, address))

    def entered_by(self, ssh: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command that runs what follows it on the node, in its group, by a command of ssh."""
        return groups.joined(self._group, _CONTROLLERS, ssh) if self.counted else ssh

    @contextmanager
    def watched(self) -> Iterator[Series]:
        """Sample what the node does while the block runs."""
        series, done = Series(), threading.Event()
        began, sent, used = time.monotonic(), self._sent(), self._used()

        def sample() -> None:
            while True:
                ended = done.wait(_SAMPLE_SECONDS)
                series.seconds.append(round(time.monotonic() - began, 2))
                series.megabytes.append(round((self._sent() - sent) / 1e6, 3))
                series.processor.append(round((self._used() - used) / 1e9, 3))
                if ended:
                    return

        thread = threading.Thread(target=sample, daemon=True)
        thread.start()
        try:
            yield series
        finally:
            done.set()
            thread.join()

    @contextmanager
    def serving(self, disk: Path) -> Iterator[list[float]]:
        """Have the node's other service read a file there meanwhile; at the end the list has its MB/s."""
        argv = [sys.executable, "-m", __name__, str(disk)]
        if self.counted:
            argv = [*groups.joined(self._group, _CONTROLLERS, ("sh", "-c")), *argv]
        service = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        rate: list[float] = []
        assert service.stdout is not None
        service.stdout.readline()  # it reads
        try:
            yield rate
        finally:
            service.terminate()
            rate.append(float(service.communicate(timeout=_END_SECONDS)[0] or 0.0))

    def _sent(self) -> int:
        lines = Path(f"/proc/{self._inside.pid}/net/dev").read_text().splitlines()
        wire = next(line for line in lines if line.strip().startswith("wire:"))
        return int(wire.partition(":")[2].split()[8])

    def _used(self) -> int:
        usage = groups.GROUPS / "cpuacct" / self._group / "cpuacct.usage"
        return int(usage.read_text()) if self.counted else 0


def _serve(file: Path) -> None:
    """Read pieces of a file in no order until SIGTERM, never from the cache, and print the MB/s."""
    chance, count, began = random.Random(1), 0, time.monotonic()
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(print(count * _READ / 1e6 / (time.monotonic() - began)))
    )
    print(flush=True)
    with file.open("rb", buffering=0) as opened:
        pieces = file.stat().st_size // _READ
        while True:
            at = chance.randrange(pieces) * _READ
            os.posix_fadvise(opened.fileno(), at, _READ, os.POSIX_FADV_DONTNEED)
            os.pread(opened.fileno(), _READ, at)
            count += 1


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
