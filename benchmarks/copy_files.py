"""How long ses-copy takes against cp, cp --reflink, rsync and dd, in sizes and between file systems.

Each cell copies the same files by every program in an order drawn anew, several times, and prints the
least time as a ratio to that of the fastest of the others, and the ratio of the medians: once until the
program has ended, when most of the copy is in memory only, and once until it is on the device (syncfs);
then the same of processor time.  The least counts, since waits only add: in a virtual machine that gives
free pages back to its hypervisor, 1 GB took up to 2 s longer in some rounds of any program.  Where the two
ratios differ much, more rounds show more.  Sources are in the page cache.  Copies of small files stay until
the end: ext4 gives no inode again that was freed in the last minute, and looking past those takes most of
the time.  `--mount` (root) compares tmpfs, ext4 on a loop device, a mergerfs union of two branches and the
tests' stand-in for Lustre, all in memory: each within itself and to and from tmpfs.  `--cell` measures
single cells.  No number makes this fail.

    .venv/bin/python benchmarks/copy_files.py [--rounds 5] [--cell TITLE] [--mount | DIRECTORY...]
"""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from ses_benchmarks import stand_ins  # noqa: F401  # first: it finds the modules of the tests

# isort: split
from lustre_mount import build_standin
from ses.demo.branches import BranchPlan, loop_branch
from ses.demo.mounts import unmount
from ses.demo.storage import mount_union
from ses_benchmarks.arguments import arguments, as_root, program, whole
from ses_benchmarks.processes import run_to_the_end

MEMORY = Path("/dev/shm")
EXT4_MB = 6400  # sparse
TARGETS = 4
KEPT_BYTES = 16 << 20  # of one copy: smaller ones stay until the end
SIZES = (
    ("1,000 of 4 kB", 1000, 4096),
    ("100 of 1 MB", 100, 1 << 20),
    ("1 of 1 GB", 1, 1 << 30),
)


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """A directory on the file system of PARENT, removed afterwards."""
    path = Path(tempfile.mkdtemp(prefix="copy-bench-", dir=parent))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def mounted(stack: ExitStack) -> list[Path]:
    """File systems of four kinds, tmpfs first, until the stack is closed."""
    work = stack.enter_context(scratch(MEMORY))
    tmpfs, ext4, union, lustre, store = map(work.joinpath, ("tmpfs", "ext4", "union", "lustre", "store"))
    branches = [work / "branch1", work / "branch2"]
    targets = [store / "control/pools", *(store / f"ost{number:04x}" for number in range(TARGETS))]
    for directory in (tmpfs, lustre, *branches, *targets):
        directory.mkdir(parents=True)
    loop_branch(BranchPlan("ext4", 0, 0, EXT4_MB, EXT4_MB), ext4, work / "image", stack, ("mkfs.ext4", "-q"))
    mount_union(union, branches, stack, "category.create=rand,cache.files=off")
    stack.callback(unmount, lustre)
    silent = subprocess.DEVNULL  # its daemon keeps what it is given
    subprocess.run([build_standin(work), store, lustre], check=True, timeout=60, stdout=silent, stderr=silent)
    return [tmpfs, ext4, union, lustre]


def commands(build: Path, source: Path, target: Path) -> dict[str, list[str | Path]]:
    """The programs, each copying the directory SOURCE to TARGET; dd copies single files only."""
    programs: dict[str, list[str | Path]] = {
        "ses-copy": [build / "copy/ses-copy", source, target],
        "cp": ["cp", "-a", "--reflink=never", source, target],
        "cp --reflink": ["cp", "-a", "--reflink=auto", source, target],
        "rsync": ["rsync", "-aW", "--inplace", f"{source}/", f"{target}/"],
    }
    files = list(source.iterdir())
    if len(files) == 1:
        programs["dd"] = ["dd", f"if={files[0]}", f"of={target}.file", "bs=1M", "status=none"]
    return programs


class Taken(NamedTuple):
    """Seconds until the program ended, until the copy was on the device, and of processor time."""

    ended: float
    safe: float
    processor: float


def bring_to_device(directory: Path) -> None:
    """Wait until all that was written to the file system of a directory is on its device."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), "syncfs", str(directory))
    finally:
        os.close(descriptor)


def timed(command: list[str | Path], target: Path, keep: bool) -> Taken:
    """Make one copy; what it made is removed, unless ``keep``."""
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run_to_the_end(command, {"PATH": os.environ["PATH"]})
    ended, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    bring_to_device(target.parent)
    safe = time.perf_counter()
    if not keep:
        shutil.rmtree(target, ignore_errors=True)
        target.with_name(target.name + ".file").unlink(missing_ok=True)
    bring_to_device(target.parent)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(ended - begun, safe - begun, processor)


def cell(build: Path, source: Path, parent: Path, rounds: int) -> dict[str, list[Taken]]:
    """What each program took in each round, after one that warms up; copies go below ``parent``."""
    keep = sum(file.stat().st_size for file in source.iterdir()) < KEPT_BYTES
    names = list(commands(build, source, parent))
    taken: dict[str, list[Taken]] = {name: [] for name in names}
    for turn in range(rounds + 1):
        for name in random.sample(names, len(names)):  # what one leaves behind, others pay for
            target = parent / f"{source.parent.name}-{name}-{turn}".replace(" ", "")
            once = timed(commands(build, source, target)[name], target, keep)
            if turn > 0:
                taken[name].append(once)
    return taken


def rows(title: str, taken: dict[str, list[Taken]]) -> str:
    """The line of a cell."""
    others = [name for name in taken if name != "ses-copy"]

    def against_fastest(what: str) -> str:
        each = {name: [float(getattr(copied, what)) for copied in several] for name, several in taken.items()}

        def ratio(value: Callable[[list[float]], float]) -> float:
            return value(each["ses-copy"]) / min(value(each[name]) for name in others)

        least = ", ".join(f"{name} {min(several):.3f}" for name, several in each.items())
        return f"{ratio(min):.2f} (medians {ratio(statistics.median):.2f}; s: {least})"

    parts = (("ended", "until it ended"), ("safe", "on the device"), ("processor", "processor time"))
    return f"{title}: " + "; ".join(f"{name} {against_fastest(what)}" for what, name in parts)


def main() -> None:
    """Measure every cell and print a line for each."""
    parser = arguments(__doc__, build=True)
    parser.add_argument("--rounds", type=whole(1), default=5, help="copies by each program that count")
    parser.add_argument("--cell", default="", help="only cells with this in the title")
    parser.add_argument(
        "directories", nargs="*", type=Path, help="file systems [default: /dev/shm, /var/tmp]"
    )
    parser.add_argument("--mount", action="store_true", help="four kinds of file systems made for this")
    given = parser.parse_args()
    if given.mount:
        as_root()
    with ExitStack() as stack:
        parents = mounted(stack) if given.mount else given.directories or [MEMORY, Path("/var/tmp")]
        places = [stack.enter_context(scratch(parent)) for parent in parents]
        pairs = list(itertools.product(places, repeat=2))
        if given.mount:
            pairs = [pair for pair in pairs if pair[0] == pair[1] or places[0] in pair]
        for (size_title, count, size), (origin, other) in itertools.product(SIZES, pairs):
            title = f"{size_title} {origin.parent.name} -> {other.parent.name}"
            if given.cell not in title:
                continue
            source = origin / size_title.replace(" ", "")
            if not source.exists():
                source.mkdir()
                for number in range(count):
                    (source / str(number)).write_bytes(os.urandom(min(size, 1 << 20)) * (max(size >> 20, 1)))
            print(rows(title, cell(given.build, source, other, given.rounds)), flush=True)


if __name__ == "__main__":
    program(main)
