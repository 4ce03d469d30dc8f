"""Placements over HTTP: booking, opening, ending, explaining, listing."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ses_service.model import Observation

Service = Any
ASK = {"subject": {"user": "alice", "application": "dd"}}


def book(service: Service, **change: Any) -> list[dict[str, Any]]:
    answer = service.post("/v1/placements", {**ASK, **change})
    assert answer.status_code == 201, answer.get_json()
    return answer.get_json()["placements"]


def test_a_booking_says_what_the_library_must_do(service: Service, clock: Any) -> None:
    answer = service.post("/v1/placements", {**ASK, "lease_seconds": 12})
    body = answer.get_json()
    (granted,) = body["placements"]
    assert re.fullmatch("[0-9a-f]{16}", granted["placement_id"])
    assert granted["element"] == body["selection"]["candidates"][0]["element"]
    assert (granted["backend"], granted["target"]) == ("mergerfs", "/mnt/" + granted["element"][-2:])
    assert (granted["stripe_count"], granted["stripe_size_bytes"]) == (1, None)
    assert granted["lease_until"] == clock() + 12


def test_a_batch_spreads_over_equal_elements_in_order(service: Service) -> None:
    granted = book(service, count=6)
    elements = [one["element"] for one in granted]
    assert sorted(elements[:3]) == sorted(elements[3:]) == ["union/b0", "union/b1", "union/b2"]
    assert len({one["placement_id"] for one in granted}) == 6


def test_a_booking_counts_against_its_element_until_it_ends(service: Service) -> None:
    (granted,) = book(service, expected_bytes=1e9)

    def element() -> dict[str, Any]:
        listed = service.get("/v1/elements").get_json()["elements"]
        return next(one for one in listed if one["id"] == granted["element"])

    assert (element()["open_placements"], element()["reserved_bytes"]) == (1, 1e9)
    assert element()["available"]["write_mb_s"] == 50
    service.post(f"/v1/placements/{granted['placement_id']}/end", {"reason": "closed", "bytes_written": 9})
    assert (element()["open_placements"], element()["reserved_bytes"]) == (0, 0)


def test_a_placement_is_opened_ended_and_explained(service: Service, clock: Any) -> None:
    service.see([Observation("union/b0", clock(), 0, 0, read_only=True)])
    need = [{"kind": "current-write-rate", "minimum": 80, "unit": "MB/s"}]

    def listed() -> list[dict[str, Any]]:
        return service.get("/v1/placements").get_json()["placements"]

    (granted,) = book(service, requirements=need)
    assert [(one["device"], one["inode"]) for one in listed()] == [(None, None)]
    url = f"/v1/placements/{granted['placement_id']}"
    clock.time += 1
    opened = service.patch(
        url, {"state": "open", "path": "/u/x", "device": 40, "inode": str(2**63), "pid": 17}
    )
    assert opened.status_code == 200
    assert (opened.get_json()["state"], opened.get_json()["opened_at"]) == ("open", clock())
    clock.time += 1
    ended = service.post(f"{url}/end", {"reason": "closed", "bytes_written": 1234})
    assert ended.status_code == 200
    record = service.get(url).get_json()
    assert record == ended.get_json()
    assert (record["state"], record["end_reason"], record["bytes_written"]) == ("ended", "closed", 1234)
    assert (record["path"], record["ended_at"]) == ("/u/x", clock())
    for known in (opened.get_json(), record):
        assert (known["device"], known["inode"]) == (40, str(2**63))
    assert [(one["device"], one["inode"]) for one in listed()] == [(40, str(2**63))]
    assert record["subject"]["application"] == "dd"
    assert [one["element"] for one in record["refused"]] == ["union/b0"]
    assert record["candidates"][0]["element"] == record["element"]
    assert record["requirements"][0]["level"] == "explicit"
    assert record["predicted"][0]["value"] == 50


def test_each_of_a_batch_says_its_turn_and_the_ranks_before_the_first(service: Service) -> None:
    need = [{"kind": "current-write-rate", "minimum": 100, "unit": "MB/s"}]
    for turn, granted in enumerate(book(service, count=5, requirements=need), 1):
        record = service.get(f"/v1/placements/{granted['placement_id']}").get_json()
        assert (record["turn"], record["turns"]) == (turn, 5)
        assert record["candidates"][record["rank"] - 1]["element"] == granted["element"]
        assert [one["predicted"][0]["value"] for one in record["candidates"]] == [100, 100, 100]
        assert record["predicted"][0]["value"] == (100 if turn <= 3 else 50)
        assert record["distance"] == (0 if turn <= 3 else 0.5)


def test_ending_twice_is_fine(service: Service) -> None:
    (granted,) = book(service)
    url = f"/v1/placements/{granted['placement_id']}/end"
    first = service.post(url, {"reason": "unused"})
    assert service.post(url, {"reason": "failed"}).get_json() == first.get_json()


def test_opening_after_the_end_is_a_conflict(service: Service) -> None:
    (granted,) = book(service)
    url = f"/v1/placements/{granted['placement_id']}"
    service.post(f"{url}/end", {"reason": "unused"})
    answer = service.patch(url, {"state": "open"})
    assert answer.status_code == 409
    assert answer.get_json()["type"] == "urn:qstorman:problem:placement-ended"


def test_a_lease_that_ran_out_ends_the_placement(service: Service, clock: Any) -> None:
    (granted,) = book(service, lease_seconds=5)
    clock.time += 5
    record = service.get(f"/v1/placements/{granted['placement_id']}").get_json()
    assert (record["state"], record["end_reason"]) == ("ended", "expired")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("get", "/v1/placements/{}", None),
        ("patch", "/v1/placements/{}", {"state": "open"}),
        ("post", "/v1/placements/{}/end", {"reason": "closed"}),
    ],
)
def test_an_unknown_placement_is_not_found(service: Service, method: str, path: str, body: Any) -> None:
    call = getattr(service.client, method)
    answer = call(path.format("0" * 16), **({"json": body} if body else {}))
    assert answer.status_code == 404
    assert "0000" in answer.get_json()["detail"]


def test_nothing_left_is_a_conflict_that_says_why(service: Service) -> None:
    everything = ["union/b0", "union/b1", "union/b2"]
    answer = service.post("/v1/placements", {**ASK, "exclude": everything})
    assert answer.status_code == 409
    problem = answer.get_json()
    assert problem["type"] == "urn:qstorman:problem:no-element"
    assert {one["element"]: one["reason"] for one in problem["refused"]} == dict.fromkeys(
        everything, "excluded"
    )


def test_placements_are_listed_latest_first_and_filtered(service: Service, clock: Any) -> None:
    (first,) = book(service)
    clock.time += 1
    (second,) = book(service, subject={"user": "bob"})
    file = {"path": "/u/bob", "device": 40, "inode": str(2**64 - 1)}
    service.patch(f"/v1/placements/{second['placement_id']}", {"state": "open", **file})

    def ids(**query: Any) -> list[str]:
        listed = service.get("/v1/placements", query_string=query).get_json()["placements"]
        return [one["placement_id"] for one in listed]

    both = [second["placement_id"], first["placement_id"]]
    assert ids() == both
    assert ids(limit=1) == both[:1]
    assert ids(user="alice") == both[1:]
    assert ids(path="/u/bob") == ids(state="open") == both[:1]
    assert ids(device=40, inode=file["inode"]) == both[:1]
    assert ids(device=41, inode=file["inode"]) == ids(device=40, inode="1") == []
    assert ids(element=first["element"]) == both[1:]
    assert ids(element="union/none") == []


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "state=lost", "colour=red", "device=1", "inode=1", "device=1&inode=x"]
)
def test_a_wrong_list_is_refused(service: Service, query: str) -> None:
    assert service.get(f"/v1/placements?{query}").status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"state": "ended"},
        {"state": "open", "inode": 5},
        {"state": "open", "inode": "-5"},
        {"state": "open", "pid": -1},
        {"state": "open", "path": "\ud800"},
    ],
)
def test_a_wrong_opening_is_refused(service: Service, body: dict[str, Any]) -> None:
    (granted,) = book(service)
    assert service.patch(f"/v1/placements/{granted['placement_id']}", body).status_code == 422


@pytest.mark.parametrize(
    "change", [{"count": 0}, {"count": 1025}, {"lease_seconds": 0}, {"lease_seconds": 1e9}]
)
def test_a_wrong_booking_is_refused(service: Service, change: dict[str, Any]) -> None:
    assert service.post("/v1/placements", {**ASK, **change}).status_code == 422
