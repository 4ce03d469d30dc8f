"""Two services on one PostgreSQL database, and programs that create files while each is killed."""

import signal
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE, wait_until
from postgresql_server import postgresql
from ses.demo.parts import find_parts
from storm_site import STORM, created, held, hold, running_site

__all__ = ["postgresql"]

pytestmark = pytest.mark.root

FILES = 300


def test_the_agent_goes_over_and_back_and_both_ledgers_stay_true(tmp_path: Path, postgresql: Any) -> None:
    with running_site(tmp_path, find_parts(), 2, f"--database-url={postgresql.url}") as site:

        def both_list(name: str | None) -> bool:
            expected = [] if name is None else held(site, name)
            return all(site.ledger(url) == expected for url in site.urls)

        def knows_what_is_held() -> bool:
            return all(site.knows(path) for path in held(site, "before"))

        wait_until(lambda: "is mounted at" in site.log("agent"), "the union is known")
        before = hold(site, "before")
        wait_until(lambda: both_list("before"), "both list what is held")
        going_on = site.work / "going-on"
        going_on.touch()
        writer = site.program(STORM, "0", str(FILES), str(going_on))
        for killed in (0, 1):
            so_far = created(site)
            wait_until(lambda so_far=so_far: created(site) > so_far + FILES // 10, "the storm goes on")  # type: ignore[misc]
            site.stop(f"service{killed or ''}", signal.SIGKILL)
            site.url = site.urls[1 - killed]
            wait_until(knows_what_is_held, "the other service knows what is held")
            site.start_service(killed)
        going_on.unlink()
        made, said = writer.communicate(timeout=600)
        assert writer.returncode == 0, said.decode()
        assert created(site) == int(made) >= FILES
        wait_until(lambda: both_list("before"), "both list what is held and nothing else")
        before.communicate(b"\n", timeout=PATIENCE)
        wait_until(lambda: both_list(None), "nothing is open any more")
