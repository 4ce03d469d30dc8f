"""Fixtures: mergerfs unions, mounted and unmounted, for every directory of tests that needs them."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_agent import FakeAgent
from fake_rules import FakeRules
from fake_table import FakeClaims, FakeTable, table_of
from mergerfs_union import Union
from mounts import let_others_in


@pytest.fixture
def make_union(tmp_path: Path, public_wrapper: Path) -> Iterator[Callable[..., Union]]:
    """Mount a union over `count` directories; unmounted again whatever happens."""
    if os.geteuid() != 0:
        pytest.skip("mounting a union needs root")
    mounted: list[Path] = []
    agents: list[FakeAgent] = []
    let_others_in(tmp_path)

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


@pytest.fixture
def table(union: Union) -> Iterator[FakeTable]:
    """A table of the union's branches, with claims of root."""
    made = table_of(union)
    yield made
    made.close()


@pytest.fixture
def claims(table: FakeTable) -> FakeClaims:
    """Those of root."""
    return table.users[0]


@pytest.fixture
def publish(union: Union) -> Iterator[Callable[..., FakeRules]]:
    """Publish rules as the agent of the union does."""
    made: list[FakeRules] = []

    def make(**fields: object) -> FakeRules:
        made.append(FakeRules(union.socket, **fields))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for rules in made:
        rules.close()
