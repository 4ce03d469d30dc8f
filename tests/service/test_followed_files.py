"""What agents say of files they follow: figures of files that ended, and files that are being read."""

from typing import Any

import pytest
from files_opened import AGENT
from ses_service.ledger.achieved import Achieved, Doubt

ACHIEVED = {
    "bytes_written": 10**9,
    "bytes_read": 0,
    "writing_seconds": 10,
    "reading_seconds": 0.0,
    "open_seconds": 12.5,
    "bytes_on_device": None,
    "doubts": ["page-cache", "something-of-a-later-version"],
    "samples": [[1, 10**8, 0], [12.5, 10**9, 0]],
    "of_a_later_version": 1,
}


def say(service: Any, node: str = "n1", status: int = 200, **said: Any) -> Any:
    answer = service.post(f"/v1/nodes/{node}/announcements", {"incarnation": AGENT, **said}, code=status)
    return answer.get_json()


def streams(service: Any) -> list[int]:
    listed = service.get("/v1/elements").get_json()["elements"]
    return [element["open_placements"] for element in listed]


def test_figures_of_a_file_that_ended_are_kept_and_the_first_word_counts(service: Any) -> None:
    (placement,) = service.open()
    say(service, ended=[{"placement_id": placement, "reason": "closed", "achieved": ACHIEVED}])
    kept = service.runtime.state.placement(placement).achieved
    assert kept == Achieved(1e9, 0, 10, 0, 12.5, None, (Doubt.PAGE_CACHE,), ((1, 1e8, 0), (12.5, 1e9, 0)))
    other = {**ACHIEVED, "bytes_written": 5}
    say(service, ended=[{"placement_id": placement, "reason": "closed", "achieved": other}])
    assert service.runtime.state.placement(placement).achieved == kept


def test_an_agent_that_does_not_follow_files_is_understood(service: Any) -> None:
    (placement,) = service.open()
    say(service, ended=[{"placement_id": placement, "reason": "closed"}])
    assert service.runtime.state.placement(placement).achieved is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"achieved": {**ACHIEVED, "samples": [[1, 2]]}},
        {"achieved": {**ACHIEVED, "samples": [[1, 2, 3]] * 33}},
        {"achieved": {**ACHIEVED, "open_seconds": -1}},
    ],
)
def test_figures_that_cannot_be_right_are_refused(service: Any, wrong: dict[str, Any]) -> None:
    (placement,) = service.open()
    answer = say(service, ended=[{"placement_id": placement, "reason": "closed", **wrong}])
    assert [refused["placement_id"] for refused in answer["refused"]] == [placement]
    assert service.runtime.state.placement(placement).achieved is None


def reading(element: str, files: int = 1, rate: float = 1e6) -> dict[str, Any]:
    return {"system": "union", "element": element, "user": "bob", "files": files, "bytes_per_second": rate}


def test_files_that_are_read_are_streams_until_the_node_says_otherwise(service: Any) -> None:
    say(service, reading=[reading("union/b0", 2), reading("b1"), reading("b2", rate=0), reading("gone")])
    assert streams(service) == [2, 1, 0]
    say(service)
    assert streams(service) == [2, 1, 0], "a word without them changes nothing"
    say(service, reading=[reading("b1", 3)])
    assert streams(service) == [0, 3, 0]
    service.refresh()
    assert streams(service) == [0, 3, 0], "a new reading of the site loses none"
    say(service, reading=[])
    assert streams(service) == [0, 0, 0]


def test_readers_of_a_silent_node_are_forgotten(service: Any) -> None:
    say(service, reading=[reading("b0")])
    service.clock.time += 3600
    service.runtime.state.expire()
    assert streams(service) == [0, 0, 0]


def test_an_agent_that_starts_again_begins_without_readers(service: Any) -> None:
    say(service, reading=[reading("b0")])
    say(service, incarnation="b" * 16)
    assert streams(service) == [0, 0, 0]


def test_a_node_cannot_claim_more_streams_than_matter(service: Any) -> None:
    say(service, reading=[reading("b0", 10**6)] * 3)
    assert streams(service) == [64, 0, 0]


def test_readers_draw_new_files_to_other_elements(service: Any) -> None:
    say(service, reading=[reading("b0", 4), reading("b1", 4)])
    asked = {"subject": {"user": "alice"}, "limit": 1}
    chosen = service.post("/v1/selections", asked).get_json()["candidates"][0]["element"]
    assert chosen == "union/b2"


def test_a_long_announcement_tells_its_readers_once(service: Any) -> None:
    from files_opened import announcement, new_ids

    ids = new_ids(500)
    files = announcement(ids, ["union/b0"], placed_at=service.clock())
    say(service, **{**files, "reading": [reading("b1", 2)]})
    assert streams(service) == [500, 2, 0]
    ends = [{"placement_id": placement, "reason": "closed", "achieved": ACHIEVED} for placement in ids]
    say(service, ended=ends)
    assert streams(service) == [0, 2, 0]
