"""Anything is killed at any moment: no place is lost that lives, and none goes on that ended."""

import json
import os
import random
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
from built import built
from patience import wait_until
from site_of_directories import Site, kill

PLACES_AT_ONCE = 60


class Machine:
    """A node: a PID namespace with an agent and jobs of its own.  ``jobs`` are the processes by place."""

    def __init__(self, site: Site, name: str) -> None:
        self.site, self.name = site, name
        self.jobs: dict[str, int] = {}
        self.begin()

    def begin(self) -> None:
        command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable]
        self.process = self.site.begin(
            *command, Path(__file__).with_name("machine.py"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.restart_agent()

    def restart_agent(self) -> None:
        own = self.site.folder / self.name
        self._send(
            f"agent {built('agent/ses-agent')} --service {self.site.url} --node {self.name} "
            f"--socket {own}.sock --state-dir {own} --jobs-dir {own}-jobs"
        )

    def job(self) -> dict[str, int]:
        self._send("job")
        assert self.process.stdout
        return dict(json.loads(self.process.stdout.readline()))

    def end(self, place: str) -> None:
        self._send(f"end {self.jobs.pop(place)}")

    def die(self) -> list[str]:
        """It and all on it are gone; another one begins under its name.  Which places it had."""
        kill(self.process)
        ended = [*self.jobs]
        self.jobs.clear()
        self.begin()
        return ended

    def _send(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()


class Storm:
    """Places that come and go on two machines while anything is killed."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site = site
        self.chance = random.Random(seed)
        self.machines = [Machine(site, f"m{number}") for number in range(2)]
        self.ended: dict[str, float] = {}  # when
        self.delays: dict[str, float] = {}  # until the service knew
        self.over = threading.Event()
        self._watch = threading.Thread(target=self._watched)
        self._watch.start()

    @property
    def living(self) -> set[str]:
        return {place for machine in self.machines for place in machine.jobs}

    def place(self) -> None:
        machine = self.chance.choice(self.machines)
        process, place_id = machine.job(), secrets.token_hex(8)
        body = {
            "place_id": place_id,
            "subject": {"user": "root", "node": machine.name},
            "storage_system": "scratch",
            "expected_bytes": 1000,
            "process": process,
        }
        wait_until(lambda: self._post(body), "a place is given", every=0.2)
        machine.jobs[place_id] = process["pid"]

    def _post(self, body: dict[str, object]) -> bool:
        try:
            answer = self.site.http.request("POST", f"{self.site.url}/v1/places", json=body)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200

    def end_some(self) -> None:
        while len(living := sorted(self.living)) > PLACES_AT_ONCE or (living and self.chance.random() < 0.4):
            place = self.chance.choice(living)
            next(machine for machine in self.machines if place in machine.jobs).end(place)
            self.ended[place] = time.monotonic()

    def kill(self, which: str) -> None:
        machine = self.chance.choice(self.machines)
        if which == "service":
            kill(self.site.service)
            self.site.begin_service()
        elif which == "agent":
            machine.restart_agent()
        else:
            self.ended |= dict.fromkeys(machine.die(), time.monotonic())

    def settle(self) -> None:
        """What is open is what lives, and nothing else."""
        wait_until(
            lambda: set(self.site.places()) == self.living,
            lambda: {
                "lost": sorted(self.living - set(self.site.places())),
                "left": sorted(set(self.site.places()) - self.living),
            },
        )
        wait_until(lambda: all(place["followed"] for place in self.site.places().values()))
        wait_until(lambda: self.ended.keys() <= self.delays.keys())
        self.over.set()
        self._watch.join()

    def _watched(self) -> None:
        while not self.over.wait(0.5):
            try:
                there = set(self.site.places())
            except (urllib3.exceptions.HTTPError, KeyError):
                continue
            now = time.monotonic()
            for place, at in [*self.ended.items()]:
                if place not in there:
                    self.delays.setdefault(place, now - at)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    if os.geteuid() != 0:
        pytest.skip("needs root: makes PID namespaces")
    made = Site(tmp_path)
    yield made
    made.end()


EACH = ("service", "agent", "machine")


@pytest.mark.parametrize(
    ("places", "kills"),
    [(100, EACH), pytest.param(2000, 20 * EACH, marks=pytest.mark.long)],
    ids=["100", "2000"],
)
def test_no_place_is_lost_that_lives_and_none_goes_on_that_ended(
    site: Site, places: int, kills: tuple[str, ...]
) -> None:
    storm = Storm(site, seed=places)
    order = storm.chance.sample(kills, len(kills))
    moments = dict(zip(storm.chance.sample(range(places), len(kills)), order, strict=True))
    try:
        for number in range(places):
            storm.place()
            storm.end_some()
            if number in moments:
                storm.kill(moments[number])
        storm.settle()
    finally:
        storm.over.set()
    slowest = max(storm.delays.values())
    print(f"{len(storm.ended)} of {places} places ended, the last {slowest:.1f} s before the service knew")
    assert len(storm.ended) + len(storm.living) == places
