"""Parts of a whole site, with branches in memory under one union, that are killed and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ses.demo.mounts import unmount
from ses.demo.storage import mount_union
from ses.demo.tools import tool

from ses_benchmarks.processes import children

ROOT = Path(__file__).resolve().parents[2]
BIN, BUILD = ROOT / ".venv/bin", ROOT / "build/libses"
PATIENCE = 120.0
BRANCHES = 4


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


class Parts:
    """A union of four branches in memory, the parts around it, and programs of users."""

    def __init__(self, work: Path, undo: ExitStack, size: str, options: str) -> None:
        self.work, self.union, self._undo = work, work / "union", undo
        self.branches = [work / f"b{number + 1}" for number in range(BRANCHES)]
        self._options = f"{options},func.mkdir=all"  # behind category.create, which sets it, too
        for branch in self.branches:
            in_memory(branch, undo, f"size={size},mode=755")
        self.mount()
        self.agent_socket, self.library = work / "agent.sock", work / "libses-wrapper.so"
        shutil.copy(BUILD / "libses-wrapper.so", self.library)  # where other users reach it
        self.library.chmod(0o755)
        self._site, self._settings = describe(work, self.union, self.branches)

    def mount(self) -> None:
        """Mount the union (again)."""
        self.union.mkdir(exist_ok=True)
        mount_union(self.union, self.branches, self._undo, self._options)

    def part(self, name: str, *command: str | Path) -> Part:
        """Start a part."""
        return Part(self._undo, name, self.work, *command)

    def start_service(self, state: Path, monitor: str, *options: str) -> Part:
        """Start the service of this site, which asks the monitor at an address."""
        return self.part("service", BIN / "ses-service", "serve", f"--state-dir={state}",
                         f"--site={self._site}", f"--monitor-url=http://{monitor}", *options)  # fmt: skip

    def start_monitor(self, address: str) -> Part:
        """Start the monitor."""
        return self.part("monitor", BIN / "smed-monitor", "serve", "--config", self._settings,
                         f"--listen={address}", f"--state-dir={self.work / 'monitor'}")  # fmt: skip

    def start_agent(self, service: str) -> Part:
        """Start the agent, which asks the service at a URL."""
        return self.part("agent", BUILD / "agent/ses-agent", f"--service={service}",
                         "--socket", self.agent_socket, "--state-dir", self.work / "agent")  # fmt: skip

    @property
    def placed(self) -> dict[str, str]:
        """The environment of a program under the library."""
        return {"LD_PRELOAD": str(self.library), "SES_AGENT_SOCKET": str(self.agent_socket)}

    def directory(self, name: str, user: int) -> Path:
        """Make a directory of a user in the union."""
        directory = self.union / name
        directory.mkdir(exist_ok=True)
        os.chown(directory, user, user)
        return directory


def of_user(
    user: int, *words: str | Path, environment: Mapping[str, str] | None = None, **options: Any
) -> Any:
    """Start a program in Python as a user, by the machine's own Python; returns its Popen."""
    return subprocess.Popen(
        ["/usr/bin/python3", "-I", *map(str, words)], user=user, group=user, extra_groups=[],
        env={"PATH": os.environ["PATH"], **(environment or {})}, **options,
    )  # fmt: skip


def in_memory(directory: Path, undo: ExitStack, options: str) -> Path:
    """Make a directory that others can read, with a file system in memory of its own."""
    directory.mkdir()
    directory.chmod(0o755)
    undo.callback(unmount, directory)
    tool("mount", "-t", "tmpfs", "-o", options, "none", directory)
    return directory


def describe(work: Path, union: Path, branches: Sequence[Path]) -> tuple[Path, Path]:
    """Write what the service and the monitor are to know of a mounted union; return the two files."""
    site, settings = work / "site.ttl", work / "smed.toml"
    site.write_text(tool(BIN / "ses", "discover", "--mergerfs", union, "--turtle", "-"))
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
