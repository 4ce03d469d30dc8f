"""What the tests of the Lustre back end stand on: the stand-in, built and mounted."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from layout_library import LayoutLibrary
from lustre_mount import LustreMount, build_standin
from placed_programs import LIST, PROBE, AgentDouble, Site

OSTS = 6
SOURCES = Path(__file__).parents[2] / "libses/src"


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in's program."""
    return build_standin(tmp_path_factory.mktemp("standin"))


@pytest.fixture
def lustre(tmp_path: Path, standin: Path) -> Iterator[LustreMount]:
    """A stand-in of six OSTs seen by two clients; pools fast (0-2), slow (3-4), small (5), empty."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    for parent in (tmp_path, *tmp_path.parents):  # other users must get through
        if parent == Path(tempfile.gettempdir()) or parent == parent.parent:
            break
        parent.chmod(parent.stat().st_mode | 0o011)
    store, path, other = tmp_path / "store", tmp_path / "lustre", tmp_path / "other"
    for directory in (path, other, store / "control/pools", *(store / f"ost{n:04x}" for n in range(OSTS))):
        directory.mkdir(parents=True)
    subprocess.run([standin, store, path, other], check=True, timeout=60)
    mount = LustreMount(path, other, store, OSTS)
    try:
        mount.pool("fast", 0, 1, 2)
        mount.pool("slow", 3, 4)
        mount.pool("small", 5)
        mount.pool("empty")
        yield mount
    finally:
        mount.gate.open()
        for mounted in (path, other):
            if subprocess.run(["umount", mounted], check=False, capture_output=True, timeout=60).returncode:
                subprocess.run(["umount", "-l", mounted], check=False, timeout=60)


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that makes one call and tells everything about it."""
    path = tmp_path_factory.mktemp("probe")
    path.chmod(0o755)
    for parent in path.parents:
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(parent.stat().st_mode | 0o011)
    subprocess.run(["gcc", "-o", path / "create", PROBE], check=True, timeout=60)
    return path / "create"


@pytest.fixture
def site(lustre: LustreMount, public_wrapper: Path, probe: Path, tmp_path: Path) -> Iterator[Site]:
    """The stand-in with the library and an agent that puts everything on OST 4."""
    agent = AgentDouble(tmp_path / "agent.sock", lustre.path, [])
    site = Site(lustre, public_wrapper, agent, tmp_path / "agent.sock", probe)
    site.put(LIST, [4])
    agent.reply = site.reply
    try:
        yield site
    finally:
        lustre.gate.open()
        agent.close()


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> LayoutLibrary:
    """The C functions that edit layouts."""
    path = tmp_path_factory.mktemp("layout") / "layout.so"
    subprocess.run(
        [
            "gcc",
            "-shared",
            "-fPIC",
            "-O2",
            "-I",
            SOURCES,
            "-o",
            path,
            *(SOURCES / "lustre" / name for name in ("layout.c", "evidence.c")),
        ],
        check=True,
        timeout=600,
    )
    return LayoutLibrary(path)
