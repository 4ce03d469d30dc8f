"""Services that share one PostgreSQL database give the last room of a directory once."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from announcing_node import check_of
from mounts import small_disk
from patience import wait_until
from service_process import Running, monitored, sees_all

DISKS, ROUNDS = 3, 4


@pytest.fixture
def pair(postgresql: Any, tmp_path: Path) -> Iterator[tuple[Running, Running]]:
    """Two services over small file systems, each of which has room for one place."""
    with ExitStack() as stack:
        disks = [stack.enter_context(small_disk(tmp_path / f"d{number}", 20)) for number in range(DISKS)]
        options = stack.enter_context(monitored(tmp_path / "etc", disks))
        services = []
        for name in ("first", "second"):
            (folder := tmp_path / name).mkdir()
            service = Running(folder, *options, f"--database-url={postgresql.url}")
            stack.callback(service.end)
            services.append(service.wait_ready())
        for service in services:
            wait_until(
                lambda service=service: check_of(service, "other-services")["ok"] and sees_all(service)
            )
        yield services[0], services[1]


def ask(service: Running) -> tuple[int, Any]:
    asked = {"place_id": secrets.token_hex(8), "storage_system": "directories", "subject": {"user": "alice"}}
    return service.call("POST", "/v1/places", {**asked, "expected_bytes": 15e6, "lease_seconds": 600})


def test_two_that_are_asked_at_once_give_the_last_room_once(pair: tuple[Running, Running]) -> None:
    with ThreadPoolExecutor(4 * DISKS) as callers:
        for _ in range(ROUNDS):
            answers = list(callers.map(ask, pair * 2 * DISKS))
            given = [answer for status, answer in answers if status == 200]
            assert sorted(status for status, _ in answers) == [200] * DISKS + [409] * 3 * DISKS
            assert len({place["element"] for place in given}) == DISKS
            for place in given:
                assert pair[0].call("DELETE", f"/v1/places/{place['place_id']}")[0] == 200
            for service in pair:
                wait_until(lambda service=service: no_claims(service))


def no_claims(service: Running) -> bool:
    return not any(
        element["reserved_bytes"] for element in service.call("GET", "/v1/elements")[1]["elements"]
    )
