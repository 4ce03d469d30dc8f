"""What one user asks for, and how much, keeps none of a neighbour's files from the service."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import wait_until
from ses.demo.parts import find_parts
from storm_site import HOLDER, held, hold, running_site

pytestmark = pytest.mark.root

AS_NOBODY = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
FILES = 400
ODD = ["write>=1MB/s,weight=2000000000", "free>=999999999999999PB"]


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that other users may go to."""
    work = Path(tempfile.mkdtemp(prefix="qstorman-story-"))
    work.chmod(0o755)
    yield work
    shutil.rmtree(work, ignore_errors=True)


def test_requirements_beyond_all_bounds_cost_a_neighbour_nothing(place: Path) -> None:
    with running_site(place, find_parts()) as site:
        site.union.chmod(0o1777)
        wait_until(lambda: "is mounted at" in site.log("agent"), "the union is known")
        for number, asked in enumerate(ODD):
            mallory = site.program(AS_NOBODY + HOLDER, f"m{number}", str(FILES), SES_REQUIRE=asked)
            assert mallory.stdout is not None
            assert mallory.stdout.readline() == b"held\n", mallory.communicate()[1]
        hold(site, "alice")
        wait_until(lambda: all(map(site.knows, held(site, "alice"))), "the neighbour's files are known")
        last = [str(site.union / f"m{number}-{FILES - 1}") for number in range(len(ODD))]
        wait_until(lambda: all(map(site.knows, last)), "and the user's own")
        log = site.log("agent")
        assert "HTTP 422" not in log
        assert "makes no sense" not in log
        assert log.count("the service refuses") <= 1, "it is said once a minute"
