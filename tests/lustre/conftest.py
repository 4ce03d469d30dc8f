"""What the tests of the Lustre back end stand on: the stand-in, built and mounted."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from built import built
from mounts import let_others_in

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "agent"))

import lov_blobs as lov
from claims_program import remove_segments
from fake_service import FakeService
from layout_library import LayoutLibrary
from lustre_mount import LOV, POOLS, REAL, REAL_NEEDS, LustreMount, build_standin, osts_of
from placed_programs import LIST, PROBE, FakeAgent, Site
from running_agent import Agent

OSTS = 6
ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "libses/src"


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in's program."""
    return build_standin(tmp_path_factory.mktemp("standin"))


@pytest.fixture
def lustre(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LustreMount]:
    """A stand-in of six OSTs seen by two clients, or a fresh directory on SES_TEST_LUSTRE; see POOLS."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    let_others_in(tmp_path)
    if REAL:
        with tempfile.TemporaryDirectory(dir=REAL) as made:
            Path(made).chmod(0o755)
            yield LustreMount(Path(made), OSTS, None)
        return
    store, path, other = tmp_path / "store", tmp_path / "lustre", tmp_path / "other"
    for directory in (path, other, store / "control/pools", *(store / f"ost{n:04x}" for n in range(OSTS))):
        directory.mkdir(parents=True)
    standin = request.getfixturevalue("standin")
    subprocess.run([standin, store, path, other], check=True, timeout=60)
    mount = LustreMount(path, OSTS, (other, store))
    try:
        for name, members in POOLS.items():
            mount.pool(name, *members)
        yield mount
    finally:
        mount.gate.open()
        for mounted in (path, other):
            if subprocess.run(["umount", mounted], check=False, capture_output=True, timeout=60).returncode:
                subprocess.run(["umount", "-l", mounted], check=False, timeout=60)


@pytest.fixture(scope="session", autouse=True)
def real_lustre() -> None:
    """Say at once what SES_TEST_LUSTRE lacks."""
    for name, members in POOLS.items() if REAL else ():
        with tempfile.TemporaryDirectory(dir=REAL) as made:
            os.setxattr(made, LOV, lov.plain(count=len(members), pool=name))
            file = Path(made) / "file"
            file.write_text("text")
            if members and set(osts_of(file)) != set(members):
                pytest.exit(REAL_NEEDS, 2)


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that makes one call and tells everything about it."""
    path = tmp_path_factory.mktemp("probe")
    path.chmod(0o755)
    let_others_in(path)
    subprocess.run(["gcc", "-o", path / "create", PROBE], check=True, timeout=60)
    return path / "create"


@pytest.fixture
def site(lustre: LustreMount, public_wrapper: Path, probe: Path, tmp_path: Path) -> Iterator[Site]:
    """The stand-in with the library and an agent that puts everything on OST 4."""
    agent = FakeAgent(tmp_path / "agent.sock", lustre.path, [])
    site = Site(lustre, public_wrapper, agent, tmp_path / "agent.sock", probe)
    site.put(LIST, [4])
    agent.reply = site.reply
    try:
        yield site
    finally:
        if lustre.behind:
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


@pytest.fixture
def chain(lustre: LustreMount, tmp_path: Path) -> Iterator[Callable[..., tuple[Agent, FakeService]]]:
    """Start a real agent of a service that places on these elements of the stand-in."""
    binary = built("agent/ses-agent")
    running: list[tuple[Agent, FakeService]] = []

    def start(targets: dict[str, str], *options: str) -> tuple[Agent, FakeService]:
        service = FakeService(lustre.root, {name: Path(to) for name, to in targets.items()}, "lustre")
        running.append((Agent(binary, tmp_path, service.url, *options), service))
        running[-1][0].wait_for("service found")
        return running[-1]

    yield start
    for agent, service in running:
        agent.stop()
        remove_segments(agent.socket)
        service.close()
