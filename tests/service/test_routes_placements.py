"""Placements over HTTP: listed, explained and ended."""

from typing import Any

import pytest
from files_opened import new_ids, opened

Service = Any


def test_placements_are_listed_latest_first_and_filtered(service: Service, clock: Any) -> None:
    (first,) = service.open(user="alice", element="union/b0")
    clock.time += 1
    (second,) = service.open(user="bob", element="union/b1", path="/mnt/union/x", inode=42)

    def listed(**query: Any) -> list[str]:
        answer = service.get("/v1/placements", query_string=query).get_json()["placements"]
        return [placement["placement_id"] for placement in answer]

    assert listed() == [second, first]
    assert listed(limit=1) == [second]
    assert listed(user="alice") == listed(element="union/b0") == [first]
    assert listed(path="/mnt/union/x") == listed(device=5, inode="42") == [second]
    assert listed(state="ended") == []
    service.post(
        "/v1/nodes/n1/announcements",
        {"incarnation": "a" * 16, "ended": [{"placement_id": first, "reason": "closed", "bytes_written": 7}]},
    )
    assert (listed(state="ended"), listed(state="open")) == ([first], [second])
    record = service.get(f"/v1/placements/{first}").get_json()
    assert (record["end_reason"], record["bytes_written"], record["ended_at"]) == ("closed", 7, clock())


def test_a_placement_counts_against_its_element_until_it_ends(service: Service) -> None:
    def carried() -> list[tuple[float, float]]:
        listed = service.get("/v1/elements").get_json()["elements"]
        return [(element["open_placements"], element["available"]["write_mb_s"]) for element in listed]

    (placement,) = service.open(element="union/b1")
    assert carried() == [(0, 100), (1, 50), (0, 100)]
    ranked = service.post("/v1/selections", {"subject": {"user": "alice"}}).get_json()["candidates"]
    assert ranked[-1]["element"] == "union/b1"
    service.post(
        "/v1/nodes/n1/announcements",
        {"incarnation": "a" * 16, "ended": [{"placement_id": placement, "reason": "closed"}]},
    )
    assert [count for count, _ in carried()] == [0, 0, 0]


def test_a_file_spread_over_elements_names_all_of_them(service: Service) -> None:
    (placement,) = new_ids(1)
    many = {"elements": ["union/b2", "union/b0"], "placed_at": 1.0, "decided_by": "program"}
    said = {"incarnation": "a" * 16, "opened": [opened(placement, restore=many)]}
    assert service.post("/v1/nodes/n1/announcements", said).get_json()["refused"] == []
    record = service.get(f"/v1/placements/{placement}").get_json()
    assert [element["element"] for element in record["elements"]] == ["union/b2", "union/b0"]
    assert (record["stripe_count"], record["element"]) == (2, "union/b2")


def test_placements_are_not_made_by_the_service(service: Service) -> None:
    assert service.post("/v1/placements", {"subject": {"user": "alice"}}).status_code == 405


def test_an_unknown_placement_is_not_found(service: Service) -> None:
    answer = service.get(f"/v1/placements/{'0' * 16}")
    assert (answer.status_code, answer.get_json()["type"]) == (404, "urn:qstorman:problem:not-found")


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "state=lost", "inode=42", "device=5", "colour=red"]
)
def test_a_wrong_list_is_refused(service: Service, query: str) -> None:
    assert service.get(f"/v1/placements?{query}").status_code == 422
