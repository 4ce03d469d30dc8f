"""Plans between the real library and the real agent, on a real union: programs, storms, accidents."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import wait_until
from plan_program import Plan
from running_agent import Agent
from service_double import ServiceDouble

pytestmark = pytest.mark.root

CREATES = (
    "import sys\n"
    "first, last = int(sys.argv[2]), int(sys.argv[3])\n"
    "for number in range(first, last):\n"
    "    with open(f'{sys.argv[1]}/f{number}', 'xb') as file:\n"
    "        file.write(b'x' * (number % 10))\n"
    "print('done')\n"
)
TOGETHER = 8  # programs of a storm


class Node:
    """Programs under the library on a node with an agent that can be taken away and brought back."""

    def __init__(
        self, begin: Callable[[], Agent], service: ServiceDouble, union: Path, library: Path, socket: Path
    ) -> None:
        self.begin, self.service, self.union, self._library, self._socket = (
            *(begin, service, union, library, socket),
        )
        self.agent = begin()
        self.agent.wait_for("storage system union is mounted")
        with self.start("touch", "warm") as program:  # programs look for a plan once a second at most
            assert program.wait(60) == 0
        Plan(socket)

    def start(self, *command: str) -> subprocess.Popen[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "LD_PRELOAD": str(self._library),
            "SES_AGENT_SOCKET": str(self._socket),
            "SES_SYNC_MS": "20000",
        }
        return subprocess.Popen(command, env=environment, cwd=self.union, stdout=subprocess.PIPE, text=True)

    def create(self, first: int, last: int) -> subprocess.Popen[str]:
        return self.start(sys.executable, "-c", CREATES, str(self.union), str(first), str(last))

    def storm(self, files: int) -> list[subprocess.Popen[str]]:
        each = files // TOGETHER
        return [self.create(number * each, (number + 1) * each) for number in range(TOGETHER)]

    def finish(self, programs: list[subprocess.Popen[str]], files: int) -> None:
        """Every create of a storm succeeded, and every file is as it was written."""
        for program in programs:
            assert program.communicate(timeout=120)[0] == "done\n"
            assert program.returncode == 0
        sizes = {path.name: path.stat().st_size for path in self.union.iterdir() if path.name[0] == "f"}
        assert sizes == {f"f{number}": number % 10 for number in range(files)}

    def through_the_plan(self) -> int:
        """How many placements were used that were not dealt over the socket."""
        return len(self.used()) - len(re.findall(r"pid \d+: placement", self.agent.log.read_text()))

    def used(self) -> dict[str, tuple[str, int | None]]:
        """Path and size of each placement that was opened; the size once it is ended."""
        with self.service._lock:
            opened = {placement: told[-1]["path"] for placement, told in self.service.opened_as.items()}
            ended = {id: told[-1]["bytes_written"] for id, told in self.service.ended_as.items()}
        return {placement: (path, ended.get(placement)) for placement, path in opened.items()}

    def wait_for_files(self, count: int) -> None:
        wait_until(lambda: len(self.used()) >= count, f"{count} files are told", 60)
        wait_until(lambda: not self.service.open_now(), "all ends are told", 60)


@pytest.fixture
def node(
    start: Callable[..., Agent], service: ServiceDouble, union: Path, binary: Path, tmp_path: Path
) -> Node:
    socket = tmp_path / "agent.sock"

    def begin() -> Agent:
        agent = start(service.url, "--plans", "--socket", str(socket))
        agent.wait_for("service found")
        return agent

    return Node(begin, service, union, binary.parents[1] / "libses-wrapper.so", socket)


def test_files_of_a_loop_are_told_with_path_and_size(node: Node, service: ServiceDouble) -> None:
    node.finish([node.create(0, 1000)], 1000)
    node.wait_for_files(1001)
    made = [("warm", 0), *((f"f{number}", number % 10) for number in range(1000))]
    assert sorted(node.used().values()) == sorted((f"{node.union}/{name}", size) for name, size in made)
    assert node.through_the_plan() > 100


@pytest.mark.parametrize("command", [("touch",), ("sh", "-c", 'echo hello > "$0"'), ("cp", "/etc/passwd")])
def test_files_of_programs_that_exit_at_once_are_told(
    node: Node, service: ServiceDouble, command: tuple[str, ...]
) -> None:
    for number in range(40):
        path = f"file{number}" if number % 2 else f"{node.union}/file{number}"
        with node.start(*command, path) as program:
            assert program.wait(60) == 0
    node.wait_for_files(41)
    size = (node.union / "file0").stat().st_size
    made = [("warm", 0), *((f"file{number}", size) for number in range(40))]
    assert sorted(node.used().values()) == sorted((f"{node.union}/{name}", size) for name, size in made)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_agent_that_goes_in_a_storm_and_comes_back_loses_nothing(
    node: Node, service: ServiceDouble, how: signal.Signals
) -> None:
    programs = node.storm(4000)
    wait_until(lambda: node.through_the_plan() > 50, "the plan is in use")
    node.agent.process.send_signal(how)
    node.agent.process.wait()
    node.agent = node.begin()
    node.finish(programs, 4000)
    wait_until(lambda: not service.open_now(), "no file counts as open")


def test_service_that_is_killed_in_a_storm_and_comes_back_loses_nothing(
    node: Node, service: ServiceDouble
) -> None:
    programs = node.storm(4000)
    wait_until(lambda: node.through_the_plan() > 50, "the plan is in use")
    service.kill()
    service.forget()
    service.revive()
    node.finish(programs, 4000)
    wait_until(lambda: not service.open_now(), "no file counts as open")
