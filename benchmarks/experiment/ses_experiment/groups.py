"""Control groups of cgroup v1: what runs in one has a part of a processor, or so much memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from ses.demo.faults import DemoError

GROUPS = Path("/sys/fs/cgroup")
_PERIOD_MICROSECONDS = 100_000
_PATIENCE_SECONDS = 10.0
# Name of the group, hierarchies, command that reaches the node: runs what follows there, in the group.
_IN_GROUP = """group=$0 kinds=$1 ssh=$2; shift 2
join="for kind in $kinds; do echo \\$\\$ >/sys/fs/cgroup/\\$kind/$group/cgroup.procs || exit; done"
exec $ssh "$join; exec ${*@Q}\""""


def available(kinds: Iterable[str]) -> bool:
    """Return whether groups can be made in these hierarchies."""
    return all(os.access(GROUPS / kind / "cgroup.procs", os.W_OK) for kind in kinds)


def make(name: str, kinds: Iterable[str], undo: ExitStack) -> None:
    """Make a group in each of these hierarchies, until ``undo`` is closed; raises DemoError."""
    for kind in kinds:
        if not available([kind]):
            raise DemoError(f"No control group of cgroup v1 can limit it here ({GROUPS / kind}).")
        folder = GROUPS / kind / name
        undo.callback(_remove, folder)
        folder.mkdir()


def give_processor(name: str, part: float | None, period: int = _PERIOD_MICROSECONDS) -> None:
    """Let a group have this part of a processor, ``None``: all it takes; ``period`` is in microseconds."""
    (GROUPS / "cpu" / name / "cpu.cfs_period_us").write_text(str(period))
    (GROUPS / "cpu" / name / "cpu.cfs_quota_us").write_text(str(-1 if part is None else int(part * period)))


def joined(name: str, kinds: Iterable[str], ssh: Iterable[str]) -> tuple[str, ...]:
    """Return the command that runs what follows it in a group of a node, which a command of ssh reaches."""
    return ("bash", "-c", _IN_GROUP, name, " ".join(kinds), " ".join(ssh))


def _remove(folder: Path) -> None:
    """Remove a group, if it was made.  It is busy for a moment after what ran in it was ended."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while folder.exists():
        try:
            folder.rmdir()
        except OSError as error:
            if time.monotonic() >= deadline:
                raise DemoError(f"{folder} could not be removed: {error.strerror}.") from error
            time.sleep(0.05)
