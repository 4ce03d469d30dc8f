"""Fixtures: mergerfs unions, mounted and unmounted, for every directory of tests that needs them."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_agent import FakeAgent
from mergerfs_union import Union


@pytest.fixture
def make_union(tmp_path: Path, public_wrapper: Path) -> Iterator[Callable[..., Union]]:
    """Mount a union over `count` directories; unmounted again whatever happens."""
    if os.geteuid() != 0:
        pytest.skip("mounting a union needs root")
    mounted: list[Path] = []
    agents: list[FakeAgent] = []
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
            timeout=60,
        )
        mounted.append(path)
        socket = tmp_path / f"{name}.sock"
        agents.append(FakeAgent(socket, path, branches))
        return Union(path, branches, agents[-1], public_wrapper, socket)

    try:
        yield mount
        for agent in agents:
            agent.close()
    finally:
        for path in mounted:
            if subprocess.run(["umount", path], check=False, capture_output=True, timeout=60).returncode:
                subprocess.run(["umount", "-l", path], check=False, timeout=60)


@pytest.fixture
def union(make_union: Callable[..., Union]) -> Union:
    """A union of three branches."""
    return make_union()
