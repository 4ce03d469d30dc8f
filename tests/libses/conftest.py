"""What the tests of libses stand on: the built library, probes, a real mergerfs union, an agent double."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from agent_double import AgentDouble
from mergerfs_union import Union

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def build() -> Path:
    """The CMake build directory of libses."""
    path = ROOT / os.environ.get("SES_BUILD_DIR", "build/libses")
    if not path.is_dir():
        pytest.fail(f"{path} does not exist: run `make native` first")
    return path


@pytest.fixture(scope="session")
def wrapper(public_wrapper: Path) -> Path:
    """The preload library."""
    return public_wrapper


@pytest.fixture(scope="session")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the built probe programs."""
    path = tmp_path_factory.mktemp("probes")
    source = Path(__file__).parent / "probes"
    for command in (["cmake", "-S", source, "-B", path, "-G", "Ninja"], ["cmake", "--build", path]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return path


@pytest.fixture
def make_union(tmp_path: Path, wrapper: Path) -> Iterator[Callable[..., Union]]:
    """Mount a union over `count` directories; unmounted again whatever happens."""
    if os.geteuid() != 0:
        pytest.skip("mounting a union needs root")
    mounted: list[Path] = []
    agents: list[AgentDouble] = []
    for parent in (tmp_path, *tmp_path.parents):  # other users must get through
        if parent == Path(tempfile.gettempdir()) or parent == parent.parent:
            break
        parent.chmod(parent.stat().st_mode | 0o011)

    def mount(
        count: int = 3, options: str = "category.create=mfs", branches: list[Path] | None = None
    ) -> Union:
        name = f"u{len(mounted)}"
        path = tmp_path / name
        branches = branches or [tmp_path / f"{name}b{i + 1}" for i in range(count)]
        for directory in (path, *branches):
            directory.mkdir(exist_ok=True)
            directory.chmod(0o755)
        listed = ":".join(str(branch) for branch in branches)
        subprocess.run(
            ["mergerfs", "-o", f"allow_other,use_ino,minfreespace=0,{options}", listed, str(path)],
            check=True,
            timeout=30,
        )
        mounted.append(path)
        socket = tmp_path / f"{name}.sock"
        agents.append(AgentDouble(socket, path, branches))
        return Union(path, branches, agents[-1], wrapper, socket)

    try:
        yield mount
    finally:
        for agent in agents:
            agent.close()
        for path in mounted:
            if subprocess.run(["umount", path], check=False, capture_output=True, timeout=30).returncode:
                subprocess.run(["umount", "-l", path], check=False, timeout=30)


@pytest.fixture
def union(make_union: Callable[..., Union]) -> Union:
    """A union of three branches."""
    return make_union()
