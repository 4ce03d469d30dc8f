"""Streams of others, which nobody places: they come at random and keep branches busy.

As in the simulation: on each branch, readers and writers each would keep a part (``load``) of their rate
busy by themselves; sizes are exponential; a run begins with as many streams as processor sharing
holds in the long run.  The same chance gives the same streams.

``python -m ses_experiment.background SCHEDULE AT`` plays a schedule that begins at moment AT of the
monotonic clock, until it is killed or its parent is gone.  Readers read one file of the branch past the
page cache; each writer writes a small file of its own over and over, so that streams take no room.
"""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from ses.demo.faults import DemoError

LOADS = {
    "none": (),
    "uniform": (0.3,) * 8,
    "skewed": (0.7, 0.7, 0.5, 0.3, 0.1, 0.1, 0.0, 0.0),
}
FOLDER = "others"
INPUT = "input.bin"
_BLOCK = 1 << 20
_RING_BLOCKS = 8
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream: it begins ``at`` seconds, on the branch of this number, and moves ``blocks`` MiB."""

    at: float
    branch: int
    reads: bool
    blocks: int


def schedule(
    loads: Sequence[float], rates: tuple[float, float], mean: float, horizon: float, chance: Random
) -> list[Stream]:
    """Return the streams of ``horizon`` seconds in order.  ``rates``: reading, writing; ``mean``: bytes."""
    streams = []
    for branch, load in enumerate(loads):
        for reads, rate in ((True, rates[0]), (False, rates[1])):
            if load <= 0:
                continue
            moments = [0.0] * _present(load, chance)
            at = chance.expovariate(load * rate / mean)
            while at < horizon:
                moments.append(at)
                at += chance.expovariate(load * rate / mean)
            for moment in moments:
                blocks = max(1, round(chance.expovariate(1 / mean) / _BLOCK))
                streams.append(Stream(moment, branch, reads, blocks))
    return sorted(streams, key=lambda stream: stream.at)


def _present(load: float, chance: Random) -> int:
    """Return how many streams there are at a moment: ``n`` with probability (1 - load) load^n."""
    count = 0
    while chance.random() < load:
        count += 1
    return count


def write_schedule(streams: Sequence[Stream], branches: Sequence[Path], file: Path) -> None:
    """Write what the player reads."""
    data = {
        "branches": [str(branch) for branch in branches],
        "streams": [asdict(stream) for stream in streams],
    }
    file.write_text(json.dumps(data))


def prepare(branches: Sequence[Path], blocks: int) -> None:
    """Write the file that readers read on each branch, all at the same time; raises OSError."""
    failed: list[OSError] = []

    def fill(branch: Path) -> None:
        try:
            folder = branch / FOLDER
            folder.mkdir()
            folder.chmod(0o755)
            with (folder / INPUT).open("wb") as file:
                file.write(bytes(blocks * _BLOCK))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=fill, args=(branch,)) for branch in branches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


@contextmanager
def playing(streams: Sequence[Stream], branches: Sequence[Path], work: Path, begin: float) -> Iterator[None]:
    """Let streams run from a moment of the monotonic clock on; they end with the block, and their files go.

    Raises DemoError when they ended before.
    """
    file = work / "background.json"
    write_schedule(streams, branches, file)
    argv = [sys.executable, "-m", "ses_experiment.background", str(file), str(begin)]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield
            failed = process.poll() is not None
        finally:
            process.kill()
            process.wait()
            for branch in branches:
                for left in (branch / FOLDER).glob("[0-9]*.bin"):
                    left.unlink()
    if failed:
        raise DemoError("The process of the background ended before the programs did.")


def play(file: Path, begin: float) -> None:
    """Run every stream at its moment, until the parent is gone."""
    data = json.loads(file.read_text())
    branches = [Path(branch) for branch in data["branches"]]
    parent = os.getppid()
    for number, stream_data in enumerate(data["streams"]):
        stream = Stream(**stream_data)
        while (left := begin + stream.at - time.monotonic()) > 0:
            if os.getppid() != parent:
                return
            time.sleep(min(left, _LOOK_SECONDS))
        run = _read if stream.reads else _write
        threading.Thread(target=run, args=(branches[stream.branch], stream, number), daemon=True).start()
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)


def _read(branch: Path, stream: Stream, number: int) -> None:
    descriptor = os.open(branch / FOLDER / INPUT, os.O_RDONLY | os.O_DIRECT)
    blocks = os.fstat(descriptor).st_size // _BLOCK
    buffer = mmap.mmap(-1, _BLOCK)  # page-aligned, as direct I/O wants it
    for done in range(stream.blocks):
        os.preadv(descriptor, [buffer], (number + done) % blocks * _BLOCK)
    os.close(descriptor)


def _write(branch: Path, stream: Stream, number: int) -> None:
    path = branch / FOLDER / f"{number}.bin"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DSYNC, 0o644)
    block = bytes(_BLOCK)
    for done in range(stream.blocks):
        os.pwrite(descriptor, block, done % _RING_BLOCKS * _BLOCK)
    os.close(descriptor)
    path.unlink()


if __name__ == "__main__":
    play(Path(sys.argv[1]), float(sys.argv[2]))
