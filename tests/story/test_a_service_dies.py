"""A service dies while it owes the agent an answer: no create waits for that, nor what the agent says."""

import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from patience import wait_until
from postgresql_server import postgresql
from relay import Relay, Waits
from ses.demo.parts import find_parts
from storm_site import STORM, Site, created, running_site

__all__ = ["postgresql"]

pytestmark = pytest.mark.root

ROUNDS = 3


def many_are_answered(waits: Waits) -> Callable[[], bool]:
    """Whether the agent has answers about fifty files more than now."""
    since = time.monotonic()
    return lambda: waits.count(since) > 50


def have_come(site: Site, so_far: int) -> bool:
    """Whether twenty files were created more than so many."""
    return created(site) > so_far + 20


def stop_who_owes_an_answer(site: Site, relays: list[Relay]) -> int:
    """Stop the service that the agent asks; which one."""
    number = max(range(2), key=lambda index: relays[index].answered_at)
    this, other, since = relays[number], relays[1 - number], time.monotonic()
    site.send(f"service{number or ''}", signal.SIGSTOP)
    wait_until(lambda: this.is_asked() or other.answered_at > since, "the agent asks one of them")
    if this.is_asked():
        return number
    site.send(f"service{number or ''}", signal.SIGCONT)  # the agent had just gone over
    return stop_who_owes_an_answer(site, relays)


def test_the_agent_goes_on_with_the_other_and_nothing_waits(tmp_path: Path, postgresql: Any) -> None:
    waits = Waits()
    relays: list[Relay] = []

    def between(service: str) -> str:
        relays.append(Relay(service, waits))
        relays[-1].start()
        return relays[-1].url

    option = f"--database-url={postgresql.url}"
    with running_site(tmp_path, find_parts(), 2, option, between=between) as site:
        wait_until(lambda: "is mounted at" in site.log("agent"), "the union is known")
        going_on = site.work / "going-on"
        going_on.touch()
        writer = site.program(STORM, "0", "0", str(going_on))
        for _ in range(ROUNDS):
            wait_until(many_are_answered(waits), "files are told of")
            killed = stop_who_owes_an_answer(site, relays)
            owed, so_far = set(waits.sent), created(site)
            wait_until(partial(have_come, site, so_far), "creates go on while it owes an answer")
            site.stop(f"service{killed or ''}", signal.SIGKILL)
            wait_until(many_are_answered(waits), "the other answers")
            wait_until(partial(owed.isdisjoint, waits.sent), "and what the dead one owed")
            site.start_service(killed)
            relays[killed].start()
        going_on.unlink()
        said, errors = writer.communicate(timeout=600)
        assert writer.returncode == 0, errors.decode()
        assert created(site) == int(said)
        kept_waiting = site.log("agent").count("lost (no reply within")
        assert kept_waiting < ROUNDS, (
            "on a busy machine an answer may be long in coming, but not in each round"
        )
        wait_until(lambda: not waits.sent, "all that was said is answered")
        for relay in relays:
            relay.stop()
