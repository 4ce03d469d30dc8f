"""What the promises stand on: a real service in a folder that other users of the machine can look into."""

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from built import BUILD
from ran import ran
from ses.api import library as binding

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "service"))
sys.path.append(str(Path(__file__).parents[1] / "portal"))
sys.path.append(str(Path(__file__).parents[1] / "agent"))

from agent_sources import LIBSES, link
from service_process import SITE, Running


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder every user can enter, as an administrator may have made the state directory."""
    with tempfile.TemporaryDirectory(prefix="ses-security-") as name:
        folder = Path(name)
        (folder / "state").mkdir()
        for directory in (folder, folder / "state"):
            directory.chmod(0o755)
        yield folder


@pytest.fixture
def start(open_folder: Path) -> Iterator[Callable[..., Running]]:
    """Return a function that starts the service with more options, on the same state directory each time."""
    started: list[Running] = []

    def begin(*options: str, site: Path | None = SITE) -> Running:
        site_option = [] if site is None else [f"--site={site}"]
        started.append(Running(open_folder, "--trust-loopback", *site_option, *options))
        return started[-1]

    yield begin
    for service in started:
        service.end(signal.SIGKILL)


@pytest.fixture
def stranger() -> int:
    """The number of a user who is nobody."""
    if os.getuid() != 0:
        pytest.skip("only root can act as another user")
    return 65534


@pytest.fixture(scope="session")
def limits_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the ways into C and C++."""
    return link(
        tmp_path_factory.mktemp("limits") / "limits",
        Path(__file__).parent / "probes/limits.cpp",
        *("-I", LIBSES / "src", "-I", LIBSES / "slurm"),
        BUILD / "slurm/CMakeFiles/ses_slurm.dir/request.c.o",
        BUILD / "src/libses_place.a",
        *("-L", BUILD, "-lses", f"-Wl,-rpath,{BUILD}"),
    )


@pytest.fixture(scope="session")
def limits_probe(limits_program: Path) -> Callable[[list[str]], list[str]]:
    """Return what the ways into C and C++ say of lines."""

    def answers(lines: list[str]) -> list[str]:
        text = "".join(f"{line}\n" for line in lines)
        done = ran([limits_program], input=text)
        return done.stdout.splitlines()

    return answers


@pytest.fixture
def python_api(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Load the library that was built."""
    monkeypatch.setenv("SES_LIBRARY", str(BUILD / "libses.so.0"))
    binding.library.cache_clear()
    yield
    binding.library.cache_clear()
