"""A storm of creates while agent and service are stopped and killed: nothing fails, nothing is forgotten."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE, wait_until
from ses.demo.parts import find_parts
from storm_site import STORM, Site, created, held, hold, running_site

pytestmark = pytest.mark.root

FILES = 2_000
WRITERS = 4


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    build = os.environ.get("SES_BUILD_DIR")
    with running_site(tmp_path, find_parts(Path(build).absolute() if build else None)) as site:
        yield site


def test_storm_survives_restarts_and_kills_and_the_ledger_ends_up_true(site: Site) -> None:
    wait_until(lambda: "is mounted at" in site.log("agent"), "the union is known")
    before = hold(site, "before")
    wait_until(lambda: site.ledger() == held(site, "before"), "the ledger has what is held")

    going_on = site.work / "going-on"
    going_on.touch()
    writers = [
        site.program(STORM, str(index), str(FILES // WRITERS), str(going_on)) for index in range(WRITERS)
    ]
    begin = {"service": site.start_service, "agent": site.start_agent}
    interruptions = [([name], how) for name in begin for how in (signal.SIGKILL, signal.SIGTERM)]
    interruptions.append((["agent", "service"], signal.SIGKILL))

    for names, how in interruptions:
        before_it = created(site)
        wait_until(lambda before_it=before_it: created(site) > before_it + FILES // 20, "the storm goes on")  # type: ignore[misc]
        for name in names:
            site.stop(name, how)
        for name in reversed(names):
            begin[name]()
        wait_until(
            lambda: all(site.knows(path) for path in held(site, "before")), "what is held is known again"
        )
    going_on.unlink()
    counts = []
    for writer in writers:
        made, said = writer.communicate(timeout=600)
        assert writer.returncode == 0, said.decode()
        counts.append(int(made))
    assert sum(counts) >= FILES
    assert created(site) == sum(counts)
    for index, count in enumerate(counts):
        for number in range(count):
            assert (site.union / f"{index}-{number}").read_text() == f"{index}-{number}"
    wait_until(lambda: site.ledger() == held(site, "before"), "the ledger is what is held")

    after = hold(site, "after")
    wait_until(
        lambda: site.ledger() == sorted(held(site, "before") + held(site, "after")), "the ledger has both"
    )
    for holder in (before, after):
        holder.communicate(b"\n", timeout=PATIENCE)
    wait_until(lambda: site.ledger() == [], "the ledger is empty")
