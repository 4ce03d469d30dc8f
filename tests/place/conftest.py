"""What the tests of ``ses place`` stand on: a way to run it with a ledger of its own."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mounts import small_disk
from places_program import Ses
from ses.place.claims import Holder
from ses.place.placing import Request, request_of


@pytest.fixture
def ses(tmp_path: Path) -> Ses:
    return Ses(tmp_path / "state")


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Callable[..., list[Path]]]:
    """Make directories on file systems of their own, of so many MiB."""
    with ExitStack() as stack:

        def make(*mebibytes: int) -> list[Path]:
            return [
                stack.enter_context(small_disk(tmp_path / f"scratch{number}", size))
                for number, size in enumerate(mebibytes, start=1)
            ]

        yield make


@pytest.fixture
def asking() -> Callable[..., Request]:
    """Make a request for a day."""

    def make(among: list[str], **more: Any) -> Request:
        return request_of(among, Holder(until=time.time() + 86400), **more)

    return make
