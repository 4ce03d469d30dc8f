"""What the agent's tests stand on: the built agent, a fake service, storage of this machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from built import built
from mounts import let_others_in

sys.path.insert(0, str(Path(__file__).parent))

from claims_program import Claims, attached, remove_segments
from fake_service import FakeService
from running_agent import Agent, Start


@pytest.fixture(autouse=True)
def _root(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root: mounts, or programs of another user")


@pytest.fixture(scope="session")
def binary() -> Path:
    return built("agent/ses-agent")


@pytest.fixture
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where branches lie, beside the union."""
    return tmp_path_factory.mktemp("agent")


@pytest.fixture
def numbers() -> range:
    """Of the elements, which are alike."""
    return range(1, 3)


@pytest.fixture
def branches(base: Path, numbers: range) -> dict[str, Path]:
    """Element ids and their directories."""
    paths = {f"union/b{number}": base / f"b{number}" for number in numbers}
    for path in paths.values():
        path.mkdir()
    return paths


@pytest.fixture
def union_options() -> str:
    """How the union is mounted, beside what it needs anyway."""
    return "use_ino"


@pytest.fixture
def tmp_path(base: Path, branches: dict[str, Path], union_options: str) -> Iterator[Path]:
    """A mounted mergerfs union: an agent stages on branches of one and nowhere else."""
    path = base / "union"
    path.mkdir()
    together = ":".join(str(branch) for branch in branches.values())
    options = f"category.create=ff,minfreespace=0,{union_options}" + (
        ",allow_other" if os.geteuid() == 0 else ""
    )
    subprocess.run(["mergerfs", "-o", options, together, path], check=True, timeout=60)
    yield path
    unmount = ["umount"] if os.geteuid() == 0 else ["fusermount", "-u"]
    if subprocess.run([*unmount, path], check=False, capture_output=True, timeout=60).returncode:
        lazily = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount", "-uz"]
        subprocess.run([*lazily, path], check=False, timeout=60)


@pytest.fixture
def device(tmp_path: Path) -> int:
    """The device the fake service calls managed: the union's."""
    return tmp_path.stat().st_dev


@pytest.fixture
def mount_point(tmp_path: Path) -> Path:
    """The mount the tests' files lie on."""
    return tmp_path


@pytest.fixture
def open_way(tmp_path: Path) -> Path:
    """The union, which other users reach."""
    let_others_in(tmp_path)
    return tmp_path


@pytest.fixture
def union(tmp_path: Path) -> Path:
    """The same, for tests whose programs run in it."""
    return tmp_path


@pytest.fixture
def service(mount_point: Path, branches: dict[str, Path]) -> Iterator[FakeService]:
    fake = FakeService(mount_point, branches)
    yield fake
    fake.close()


@pytest.fixture
def start(binary: Path, base: Path, service: FakeService, device: int) -> Iterator[Start]:
    """Start an agent of this service, or of the one at a URL, and wait until it says so; it is stopped with
    the test."""
    agents: list[Agent] = []

    def begin(*options: str, url: str | None = None, until: str = "service found") -> Agent:
        directory = base / f"agent{len(agents)}"
        directory.mkdir(mode=0o755)
        agents.append(Agent(binary, directory, url or service.url, *options, device=device))
        for text in ("answers on", until):
            agents[-1].wait_for(text)
        return agents[-1]

    yield begin
    for agent in agents:
        agent.stop()
        remove_segments(agent.socket)


@pytest.fixture
def agent(start: Start) -> Agent:
    """An agent that has found the fake service."""
    return start()


@pytest.fixture
def claims(agent: Agent) -> Iterator[Claims]:
    """The claims of this user; nothing is counted yet."""
    with attached(agent) as segment:
        yield segment
