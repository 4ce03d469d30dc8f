"""Places at services that share one PostgreSQL database: given by one, renewed, watched and ended at any."""

import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from announcing_node import check_of
from patience import wait_until
from service_process import Running

SITE = Path(__file__).parents[2] / "ontology/examples/directories-site.ttl"
AGENT = "a" * 16
PROCESS = {"pid": 4711, "started": 99, "namespace": 1}


class Services:
    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url
        self.begun: list[Running] = []

    def begin(self) -> Running:
        folder = self._folder / str(len(self.begun))
        folder.mkdir()
        service = Running(folder, "--trust-loopback", f"--site={SITE}", f"--database-url={self._url}")
        self.begun.append(service)
        service.wait_ready()
        wait_until(lambda: check_of(service, "database")["ok"] and check_of(service, "other-services")["ok"])
        return service


@pytest.fixture(scope="module")
def services(postgresql: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    made = Services(tmp_path_factory.mktemp("services"), postgresql.url)
    yield made
    for service in made.begun:
        service.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def pair(services: Services) -> tuple[Running, Running]:
    return services.begin(), services.begin()


def request(**more: Any) -> dict[str, Any]:
    asked = {"place_id": secrets.token_hex(8), "storage_system": "scratch", "subject": {"user": "alice"}}
    return {**asked, "expected_bytes": 1e9, **({} if "process" in more else {"lease_seconds": 3600}), **more}


def give(service: Running, asked: dict[str, Any]) -> dict[str, Any]:
    status, given = service.call("POST", "/v1/places", asked)
    assert status == 200, given
    return dict(given)


def listed(service: Running, state: str = "open") -> dict[str, Any]:
    status, answer = service.call("GET", f"/v1/places?state={state}")
    assert status == 200, answer
    return {place["place_id"]: place for place in answer["places"]}


def carried(service: Running) -> int:
    elements = service.call("GET", "/v1/elements")[1]["elements"]
    return sum(element["open_placements"] for element in elements)


def test_a_place_counts_and_is_released_at_any_service(pair: tuple[Running, Running]) -> None:
    first, second = pair
    given = give(first, request())
    place_id = given["place_id"]
    wait_until(lambda: carried(second) == 1)
    assert listed(second)[place_id]["directory"] == given["directory"]
    assert second.call("GET", f"/v1/places/{place_id}")[1]["candidates"]
    status, ended = second.call("DELETE", f"/v1/places/{place_id}")
    assert (status, ended["state"]) == (200, "ended")
    wait_until(lambda: carried(first) == carried(second) == 0)
    assert place_id not in listed(first)
    assert listed(first, "ended")[place_id]["end_reason"] == "closed"


def test_who_renews_a_place_may_use_any_service(pair: tuple[Running, Running]) -> None:
    first, second = pair
    given = give(first, request(process=PROCESS, subject={"user": "alice", "node": "quiet"}))
    place_id = given["place_id"]
    wait_until(lambda: place_id in listed(second))
    for service in (second, first, second):
        status, renewed = service.call("POST", f"/v1/places/{place_id}/renewals", {"written_bytes": 5})
        assert (status, renewed["state"]) == (200, "open"), renewed
    wait_until(lambda: carried(first) == carried(second) == 1)
    first.call("DELETE", f"/v1/places/{place_id}")
    wait_until(lambda: carried(first) == carried(second) == 0)


def test_the_service_that_hears_of_the_node_watches_the_place(pair: tuple[Running, Running]) -> None:
    first, second = pair
    numbers = iter(range(1, 100))

    def announce(**said: Any) -> Any:
        body = {"incarnation": AGENT, "number": next(numbers), **said}
        status, answer = second.call("POST", "/v1/nodes/n1/announcements", body)
        assert status == 200, answer
        return answer

    announce()
    given = give(first, request(process=PROCESS, subject={"user": "alice", "node": "n1"}))
    place_id = given["place_id"]
    wait_until(lambda: [held["placement_id"] for held in announce()["open"] or []] == [place_id])
    announce(opened=[{"placement_id": place_id, "user": "alice", "device": 0, "inode": "0"}])
    wait_until(lambda: listed(first)[place_id]["followed"])
    announce(ended=[{"placement_id": place_id, "reason": "exited", "bytes_written": 7}])
    wait_until(lambda: place_id not in listed(first))
    wait_until(lambda: carried(first) == carried(second) == 0)


def test_a_request_whose_answer_was_lost_with_its_service_gets_the_same_place_at_another(
    services: Services, pair: tuple[Running, Running]
) -> None:
    _, second = pair
    third = services.begin()
    asked = request()
    given = give(third, asked)
    wait_until(lambda: asked["place_id"] in listed(second))
    third.end(signal.SIGKILL)
    again = give(second, asked)
    assert again["directory"] == given["directory"]
    assert carried(second) == 1
    assert second.call("DELETE", f"/v1/places/{asked['place_id']}")[0] == 200
    assert carried(second) == 0
