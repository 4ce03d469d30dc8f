"""What the promises stand on: a real service in a folder that other users of the machine can look into."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "service"))
sys.path.append(str(Path(__file__).parents[1] / "portal"))

from service_process import SITE, Running


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder every user can enter, as an administrator may have made the state directory."""
    with tempfile.TemporaryDirectory(prefix="ses-security-") as name:
        folder = Path(name)
        (folder / "state").mkdir()
        for one in (folder, folder / "state"):
            one.chmod(0o755)
        yield folder


@pytest.fixture
def start(open_folder: Path) -> Iterator[Callable[..., Running]]:
    """Return a function that starts the service with more options, on the same state directory each time."""
    started: list[Running] = []

    def begin(*options: str, site: Path | None = SITE) -> Running:
        told = [] if site is None else [f"--site={site}"]
        started.append(Running(open_folder, "--trust-loopback", *told, *options))
        return started[-1]

    yield begin
    for one in started:
        one.end(signal.SIGKILL)


@pytest.fixture
def stranger() -> int:
    """The number of a user who is nobody."""
    if os.getuid() != 0:
        pytest.skip("only root can act as another user")
    return 65534
