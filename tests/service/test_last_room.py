"""Services that share one PostgreSQL database give the last room of a directory once."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from announcing_node import check_of
from mounts import small_disk
from patience import wait_until
from ports import free_port
from service_process import Running

PROGRAMS = Path(sys.executable).parent
DISKS, ROUNDS = 3, 4


@pytest.fixture
def pair(postgresql: Any, tmp_path: Path) -> Iterator[tuple[Running, Running]]:
    """Two services over small file systems, each of which has room for one place."""
    with ExitStack() as stack:
        etc, port = tmp_path / "etc", free_port()
        disks = [stack.enter_context(small_disk(tmp_path / f"d{number}", 20)) for number in range(DISKS)]
        given = [part for disk in disks for part in ("--directories", str(disk))]
        subprocess.run([PROGRAMS / "ses", "init", etc, *given], check=True, capture_output=True)
        site = etc / "qstorman/site.ttl"
        monitor = subprocess.Popen(
            [PROGRAMS / "smed-monitor", "serve", "--listen", f"127.0.0.1:{port}",
             "--config", etc / "qstorman/smed.toml", "--site", site],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        stack.callback(monitor.wait)
        stack.callback(monitor.kill)
        services = []
        for name in ("first", "second"):
            (folder := tmp_path / name).mkdir()
            options = (f"--site={site}", f"--monitor-url=http://127.0.0.1:{port}", "--trust-loopback")
            service = Running(folder, *options, f"--database-url={postgresql.url}")
            stack.callback(service.end)
            services.append(service.wait_ready())
        for service in services:
            wait_until(lambda one=service: check_of(one, "other-services")["ok"] and sees_all(one))
        yield services[0], services[1]


def sees_all(service: Running) -> bool:
    elements = service.call("GET", "/v1/elements")[1]["elements"]
    return all((element["observation"] or {}).get("state") == "ok" for element in elements)


def ask(service: Running) -> tuple[int, Any]:
    asked = {"place_id": secrets.token_hex(8), "storage_system": "directories", "subject": {"user": "alice"}}
    return service.call("POST", "/v1/places", {**asked, "expected_bytes": 15e6, "lease_seconds": 600})


def test_two_that_are_asked_at_once_give_the_last_room_once(pair: tuple[Running, Running]) -> None:
    with ThreadPoolExecutor(4 * DISKS) as callers:
        for _ in range(ROUNDS):
            answers = list(callers.map(ask, pair * 2 * DISKS))
            given = [answer for status, answer in answers if status == 200]
            assert sorted(status for status, _ in answers) == [200] * DISKS + [409] * 3 * DISKS
            assert len({one["element"] for one in given}) == DISKS
            for one in given:
                assert pair[0].call("DELETE", f"/v1/places/{one['place_id']}")[0] == 200
            for service in pair:
                wait_until(lambda one=service: no_claims(one))


def no_claims(service: Running) -> bool:
    return not any(
        element["reserved_bytes"] for element in service.call("GET", "/v1/elements")[1]["elements"]
    )
