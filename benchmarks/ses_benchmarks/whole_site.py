"""Parts of a whole site, with branches in memory under one union, that are killed and started again."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from ses_benchmarks.processes import children

ROOT = Path(__file__).resolve().parents[2]
BIN, BUILD = ROOT / ".venv/bin", ROOT / "build/libses"
PATIENCE = 120.0


class Part:
    """A process that is killed, and started again; ended when all is undone."""

    def __init__(self, undo: ExitStack, name: str, work: Path, *command: str | Path) -> None:
        self.name, self._command, self._log = name, [str(word) for word in command], work / f"{name}.log"
        self.process = self.start()
        undo.callback(self.end, signal.SIGTERM)

    def start(self) -> subprocess.Popen[bytes]:
        """Start it (again)."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log)
        return self.process

    def end(self, how: int) -> None:
        """End it by a signal, if it runs."""
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)

    def children(self) -> list[int]:
        """Return its children, such as writer and store of the service."""
        return children(self.process.pid)


def run(*command: str | Path) -> str:
    """Run a command; return its output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr.strip()}")
    return done.stdout


def in_memory(directory: Path, undo: ExitStack, options: str) -> Path:
    """Make a directory that others can read, with a file system in memory of its own."""
    directory.mkdir()
    directory.chmod(0o755)
    run("mount", "-t", "tmpfs", "-o", options, "none", directory)
    undo.callback(run, "umount", "-l", directory)
    return directory


def mount_union(union: Path, branches: Sequence[Path], options: str) -> None:
    """Mount branches as one, with directories on all of them."""
    options = f"allow_other,use_ino,{options},func.mkdir=all"  # behind category.create, which sets it, too
    run("mergerfs", "-o", options, ":".join(map(str, branches)), union)


def describe(work: Path, union: Path, branches: Sequence[Path]) -> tuple[Path, Path]:
    """Write what the service and the monitor are to know of a mounted union; return the two files."""
    site, settings = work / "site.ttl", work / "smed.toml"
    site.write_text(run(BIN / "ses", "discover", "--mergerfs", union, "--turtle", "-"))
    settings.write_text(
        "".join(
            f'[[target]]\nname = "{branch.name}"\ncollector = "statvfs"\n'
            f'[[element]]\nid = "union/{branch.name}"\ntarget = "{branch.name}"\nmount_point = "{branch}"\n'
            for branch in branches
        )
    )
    return site, settings


def wait_until(check: Callable[[], object], what: str) -> None:
    """Wait until this is true.  Raises SystemExit when it stays untrue."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if check():
            return
        time.sleep(0.1)
    raise SystemExit(f"waited {PATIENCE:.0f} s in vain: {what}")
