"""Storage that does not answer holds up its own files only, and is followed again when it answers.

The server of a real union is stopped, as one of NFS may be: whoever asks the union waits.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from claims_program import Claims
from fake_service import FakeService
from mounts import served
from patience import wait_until
from running_agent import Agent, Start

pytestmark = pytest.mark.root

NEIGHBOUR, NEWCOMER = 65534, 65533
MAKE = (
    "import os, sys\n"
    "for number in range(int(sys.argv[2])):\n"
    "    open(f'{sys.argv[1]}/{os.getpid()}-{number}', 'wb').write(b'x')\n"
)


@dataclass
class Union:
    """A union, and the process that serves it or what its first branch lies on."""

    path: Path
    server: subprocess.Popen[bytes]


@pytest.fixture(params=["union", "branch"])
def other(base: Path, service: FakeService, union: Path, request: pytest.FixtureRequest) -> Iterator[Union]:
    """A second union, known to the service, whose first branch is a file system with a server, too."""
    path, branches = base / "other", {f"other/c{number}": base / f"c{number}" for number in (1, 2)}
    with served(base / "c1", base / "below") as below, served(path, *branches.values()) as server:
        service.beside["other"] = (path, branches)
        try:
            yield Union(path, server if request.param == "union" else below)
        finally:
            below.send_signal(signal.SIGCONT)


@pytest.fixture
def make(
    start: Start, union: Path, other: Union, base: Path, binary: Path
) -> Callable[[Path, int, int], None]:
    """Make files in a directory under the library, as a user."""
    agent = start()
    for name in ("union", "other"):
        agent.wait_for(f"storage system {name} is mounted")
    for directory in (base, *base.parents):  # pytest closes those of its own
        if directory.stat().st_mode & 0o005 == 0o005:
            break
        directory.chmod(0o755)
    library = base / "libses-wrapper.so"  # where other users reach it
    shutil.copy(binary.parents[1] / library.name, library)

    def make(directory: Path, count: int, uid: int) -> None:
        directory.mkdir(exist_ok=True)
        os.chown(directory, uid, uid)
        environment = {
            "PATH": os.environ["PATH"], "LD_PRELOAD": str(library), "SES_AGENT_SOCKET": str(agent.socket),
        }  # fmt: skip
        command = ["/usr/bin/python3", "-I", "-c", MAKE, str(directory), str(count)]
        subprocess.run(command, env=environment, user=uid, group=uid, check=True, timeout=60)

    make.agent = agent  # type: ignore[attr-defined]
    return make


def told_below(service: FakeService, directory: Path) -> int:
    return sum(
        str(file["path"]).startswith(f"{directory}/")
        for placement in list(service.placements)
        for file in service.opened(placement)[:1]
    )


def test_a_union_that_hangs_holds_up_no_file_of_another(
    make: Callable[[Path, int, int], None], service: FakeService, union: Path, other: Union
) -> None:
    agent: Agent = make.agent  # type: ignore[attr-defined]
    make(other.path / "hers", 1, 0)
    make(union / "his", 1, NEIGHBOUR)
    claims = Claims(agent.socket)
    for system in (0, 1):
        claims.wait_until_staged(system)
    with agent.held():
        make(other.path / "more", 20, 0)
        other.server.send_signal(signal.SIGSTOP)
        time.sleep(2)  # for so long the kernel answers by itself
    agent.wait_for("does not answer and is not waited for")
    make(union / "further", 10, NEIGHBOUR)
    wait_until(lambda: told_below(service, union / "further") == 10, "the neighbour's files are known")
    agent.wait_for(f"other/c2 takes no file: {other.path} does not answer")
    make(union / "first", 1, NEWCOMER)
    make(union / "next", 3, NEWCOMER)
    wait_until(lambda: told_below(service, union / "next") == 3, "files of who comes meanwhile are placed")
    other.server.send_signal(signal.SIGCONT)
    agent.wait_for("answers again")

    def is_followed_again() -> bool:
        make(other.path / "again", 3, 0)
        return told_below(service, other.path / "again") > 0

    wait_until(is_followed_again, "its files are followed again")
