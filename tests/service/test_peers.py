"""Real services that tell each other what begins and ends."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from files_opened import announcement, new_ids
from ports import free_port
from service_process import SITE, Running, until

AGENT = "a" * 16


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[Running]]:
    """Two services, each a peer of the other."""
    ports = [free_port(), free_port()]
    made = []
    try:
        for own, other in (ports, ports[::-1]):
            folder = tmp_path / str(own)
            folder.mkdir()
            options = ("--trust-loopback", f"--site={SITE}", f"--peer=http://127.0.0.1:{other}")
            made.append(Running(folder, *options, port=own))
        yield [one.wait_ready() for one in made]
    finally:
        for one in made:
            one.end(signal.SIGKILL)


def announce(service: Running, opened: list[str], ended: list[str] | None = None, node: str = "n1") -> None:
    said = {
        "incarnation": AGENT,
        "opened": announcement(opened, ["union/b1", "union/b2", "union/b3"])["opened"],
        "ended": [{"placement_id": one, "reason": "closed"} for one in ended or ()],
    }
    status, answer = service.call("POST", f"/v1/nodes/{node}/announcements", said)
    assert status == 200, answer


def carried(service: Running) -> dict[str, int]:
    elements: list[dict[str, Any]] = service.call("GET", "/v1/elements")[1]["elements"]
    return {one["id"]: one["open_placements"] for one in elements}


def metric(service: Running, name: str) -> str:
    text = service.http.request("GET", f"http://127.0.0.1:{service.port}/metrics").data.decode()
    return next(line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(name))


def test_what_one_carries_the_other_counts_until_it_ends(pair: list[Running]) -> None:
    one, other = pair

    def both_carry(count: int) -> bool:
        announce(one, [])  # a node counts as gone after a while without a word
        announce(other, [], node="n2")
        return carried(other) == carried(one) and sum(carried(one).values()) == count

    ids = new_ids(20)
    announce(one, ids)
    until(lambda: both_carry(20))
    mine = new_ids(8)
    announce(other, mine, node="n2")
    until(lambda: both_carry(28))
    announce(one, [], ids[:15])
    until(lambda: both_carry(13))
    assert metric(one, "ses_peer_up") == "1.0"
    assert metric(one, "ses_peers_heard") == "1.0"


def test_a_dead_peer_is_forgotten_and_a_new_start_is_told_everything(
    pair: list[Running], tmp_path: Path
) -> None:
    one, other = pair
    ids, elsewhere = new_ids(20), new_ids(10)

    def said() -> None:
        """Say again what is open: a node counts as gone after a while without a word."""
        announce(one, ids)
        if other.process.poll() is None:
            announce(other, elsewhere, node="n2")

    def are_open(count: int, *services: Running) -> bool:
        said()
        return all(sum(carried(each).values()) == count for each in services)

    until(lambda: are_open(30, one, other))
    other.end(signal.SIGKILL)
    until(lambda: are_open(20, one))
    until(lambda: metric(one, "ses_peer_up") == "0.0")
    assert metric(one, "ses_peers_heard") == "0.0"
    folder = tmp_path / "anew"
    folder.mkdir()
    options = ("--trust-loopback", f"--site={SITE}", f"--peer=http://127.0.0.1:{one.port}")
    again = Running(folder, *options, port=other.port)
    try:
        again.wait_ready()
        until(lambda: are_open(20, again))
    finally:
        again.end(signal.SIGKILL)


def test_a_peer_that_was_never_there_takes_nothing_away(tmp_path: Path) -> None:
    options = ("--trust-loopback", f"--site={SITE}", f"--peer=http://127.0.0.1:{free_port()}")
    service = Running(tmp_path, *options).wait_ready()
    try:
        announce(service, new_ids(5))
        assert sum(carried(service).values()) == 5
        until(lambda: metric(service, "ses_peer_up") == "0.0")
    finally:
        assert service.end() == 0
