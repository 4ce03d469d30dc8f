"""What the agent's tests stand on: the built agent, a stand-in service, storage of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from claims_program import remove_segments
from running_agent import Agent
from service_double import ServiceDouble

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _root(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root: mounts, or programs of another user")


@pytest.fixture(scope="session")
def binary() -> Path:
    path = ROOT / os.environ.get("SES_BUILD_DIR", "build/libses") / "agent" / "ses-agent"
    if not path.exists():
        pytest.fail(f"{path} does not exist: run `make native` first")
    return path


@pytest.fixture
def branches(tmp_path: Path) -> dict[str, Path]:
    """Element ids and their directories."""
    paths = {f"union/b{number}": tmp_path / f"b{number}" for number in (1, 2)}
    for path in paths.values():
        path.mkdir()
    return paths


@pytest.fixture
def device(tmp_path: Path) -> int:
    """The device the stand-in service calls managed: the one under tmp_path."""
    return tmp_path.stat().st_dev


@pytest.fixture(scope="session")
def mount_point(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The mount the tests' files lie on; where the kernel lists none (a chroot), they get one."""
    base = tmp_path_factory.getbasetemp().resolve()
    listed = [Path(line.split()[4]) for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    above = [mount for mount in listed if base.is_relative_to(mount)]
    if above:
        yield max(above, key=lambda mount: len(mount.parts))
        return
    subprocess.run(["mount", "--bind", base, base], check=True)
    yield base
    subprocess.run(["umount", "--lazy", base], check=True)


@pytest.fixture
def service(mount_point: Path, branches: dict[str, Path]) -> Iterator[ServiceDouble]:
    double = ServiceDouble(mount_point, branches)
    yield double
    double.close()


@pytest.fixture
def union(branches: dict[str, Path], service: ServiceDouble, tmp_path: Path) -> Iterator[Path]:
    """A mounted mergerfs union, which the stand-in service manages."""
    path = tmp_path / "union"
    path.mkdir()
    together = ":".join(str(branch) for branch in branches.values())
    options = "category.create=ff,use_ino,allow_other"
    subprocess.run(["mergerfs", "-o", options, together, path], check=True, timeout=20)
    service.mount_point = path
    yield path
    if subprocess.run(["umount", path], check=False, timeout=20).returncode:
        subprocess.run(["umount", "-l", path], check=False, timeout=20)


@pytest.fixture
def start(binary: Path, tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """Start an agent for a service URL with further options; it is stopped with the test."""
    agents: list[Agent] = []

    def begin(service: str, *options: str) -> Agent:
        directory = tmp_path / f"agent{len(agents)}"
        directory.mkdir(mode=0o755)
        agents.append(Agent(binary, directory, service, *options))
        agents[-1].wait_for("answers on")
        return agents[-1]

    yield begin
    for agent in agents:
        agent.stop()
        remove_segments(agent.socket)


@pytest.fixture
def agent(start: Callable[..., Agent], service: ServiceDouble) -> Agent:
    """An agent that has found the stand-in service."""
    running = start(service.url)
    running.wait_for("service found")
    return running
