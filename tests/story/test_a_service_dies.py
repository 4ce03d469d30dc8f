"""A service dies while it owes the agent an answer: no create waits for that, nor what the agent says."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from postgresql_server import postgresql
from relay import Relay, Waits
from ses.demo.parts import find_parts
from storm_site import Site, running_site, wait_until

__all__ = ["postgresql"]

pytestmark = pytest.mark.root

ROUNDS = 3
LONGEST = 2.0  # seconds; a busy machine may make a round slow, a wait of ours makes all of them slow
TIMED = """
import json, os, sys, time
directory, going_on = sys.argv[1:]
creates = []
while os.path.exists(going_on):
    begun = time.monotonic()
    with open(f"{directory}/{len(creates)}", "x"):
        creates.append((begun, time.monotonic() - begun))
    time.sleep(0.005)
print(json.dumps(creates))
"""


def many_are_answered(waits: Waits) -> Callable[[], bool]:
    """Whether the agent has answers about fifty files more than now."""
    since = time.monotonic()
    return lambda: waits.count(since) > 50


def stop_who_owes_an_answer(site: Site, relays: list[Relay]) -> int:
    """Stop the service that the agent asks; which one."""
    number = max(range(2), key=lambda one: relays[one].answered_at)
    this, other, since = relays[number], relays[1 - number], time.monotonic()
    site.signal(f"service{number or ''}", signal.SIGSTOP)
    wait_until(lambda: this.is_asked() or other.answered_at > since, "the agent asks one of them")
    if this.is_asked():
        return number
    site.signal(f"service{number or ''}", signal.SIGCONT)  # the agent had just gone over
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
        writer = site.program(TIMED, str(going_on))
        begun, longest = [], []
        for _ in range(ROUNDS):
            wait_until(many_are_answered(waits), "files are told of")
            begun.append(time.monotonic())
            killed = stop_who_owes_an_answer(site, relays)
            site.stop(f"service{killed or ''}", signal.SIGKILL)
            wait_until(many_are_answered(waits), "the other answers")
            longest.append(waits.longest(begun[-1]))
            site.start_service(killed)
            relays[killed].start()
        going_on.unlink()
        said, errors = writer.communicate(timeout=600)
        assert writer.returncode == 0, errors.decode()
        creates = json.loads(said)
        slowest = [
            max(took for moment, took in creates if moment + took >= after and moment < before)
            for after, before in zip(begun, [*begun[1:], time.monotonic()], strict=True)
        ]
        print("longest waits of announcements", longest, "and creates", slowest)
        assert min(longest) < LONGEST, longest
        assert min(slowest) < LONGEST, slowest
        wait_until(lambda: not waits.sent, "all that was said is answered")
        for relay in relays:
            relay.stop()
