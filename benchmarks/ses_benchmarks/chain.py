"""A whole small site: a mergerfs union on tmpfs, a real ses-service that knows it, a real ses-agent.

One branch is said to be far faster than the others, so that every file is placed there and can be
compared with one made there by hand.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ses.demo.processes import is_socket
from ses.demo.storage import mount_union

from ses_benchmarks.arguments import as_root
from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.processes import server
from ses_benchmarks.site_description import Facts, describe
from ses_benchmarks.site_service import body_of, service

AGENT_READY_SECONDS = 20
SETTLE_SECONDS = 30
PATIENCE_MS = 5000  # of agent and program: a late answer shall show in p99, not turn into a plain create
BRANCHES = 4
UNION = "category.create=mfs,minfreespace=0"
MB = 1e6


@dataclass(frozen=True, slots=True)
class Chain:
    """What a program on this site sees."""

    union: Path
    fast_branch: Path
    socket: Path
    service_port: int
    agent: int  # its process

    def settle(self) -> None:
        """Wait until the service knows of no open file, so that no run pays for the one before it.

        Raises BenchmarkError when that does not come about: a close was not noticed.
        """
        deadline = time.monotonic() + SETTLE_SECONDS
        while (still_open := self._open_files()) > 0:
            if time.monotonic() > deadline:
                raise BenchmarkError(f"{still_open} files still count as open {SETTLE_SECONDS} s later")
            time.sleep(0.05)

    def _open_files(self) -> int:
        body = body_of(self.service_port, "/v1/elements")
        if body is None:
            raise BenchmarkError("ses-service does not answer any more")
        return sum(element["open_placements"] for element in json.loads(body)["elements"])

    @property
    def patient(self) -> dict[str, str]:
        """The environment of a program that waits as long as the agent may take."""
        return {"SES_AGENT_SOCKET": str(self.socket), "SES_SYNC_MS": str(PATIENCE_MS)}


def facts(branches: list[Path]) -> list[Facts]:
    """The first branch so much faster that no number of open files makes it the second choice."""
    rates = [1e6 * MB] + [1 * MB] * (len(branches) - 1)
    return [
        Facts(name=branch.name, target=str(branch), read_rate=rate, write_rate=rate, capacity=1e12)
        for branch, rate in zip(branches, rates, strict=True)
    ]


@contextmanager
def chain(agent: Path, programs: Path, scratch: Path, *options: str) -> Iterator[Chain]:
    """The site, ready to be asked; ``scratch`` is a directory on tmpfs and ``programs`` that of
    ``ses-service`` and ``oxigraph``; ``options`` are the agent's.

    Raises BenchmarkError and DemoError naming the part that could not be started.
    """
    as_root()
    union = scratch / "union"
    branches = [scratch / f"b{i + 1}" for i in range(BRANCHES)]
    for directory in branches:
        directory.mkdir()
    agent_socket = scratch / "agent.sock"
    turtle = describe("union", str(union), facts(branches))
    with ExitStack() as undo, service(programs, scratch, turtle, BRANCHES) as served:
        mount_union(union, branches, undo, UNION)
        command: list[str | Path] = [agent, "--service", f"http://127.0.0.1:{served.port}"]
        command += ["--socket", agent_socket, "--state-dir", scratch / "agent"]
        command += ["--log-level", "warning", "--answer-ms", str(PATIENCE_MS), *options]
        log = scratch / "agent.log"
        with server(command, log, is_socket(agent_socket), AGENT_READY_SECONDS) as pid:
            yield Chain(union, branches[0], agent_socket, served.port, pid)


@contextmanager
def built_chain(build: Path, *options: str) -> Iterator[Chain]:
    """The same of what CMake built in ``build``, in a directory of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="ses-bench-", dir="/dev/shm") as scratch,
        chain(build / "agent/ses-agent", Path(sys.executable).parent, Path(scratch), *options) as site,
    ):
        yield site
