"""By what an agent notices that requirements changed."""

import re
from typing import Any

import pytest
from ses_service.decision.digest import RequirementDigests
from ses_service.decision.resolve import index_sets
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet, Strictness

WRITE = Requirement(Kind.CURRENT_WRITE_RATE, 50e6)
HOME = {"alice": "materials"}
GENERAL = (
    RequirementSet(Level.USER, "alice", (WRITE,)),
    RequirementSet(Level.APPLICATION, "alice:dd", (WRITE,)),
    RequirementSet(Level.VO, "materials", (WRITE,)),
    RequirementSet(Level.SITE, "default", (WRITE,)),
)


def of_alice(*sets: RequirementSet, home_vo: dict[str, str] | None = None) -> str:
    return RequirementDigests(index_sets(sets), HOME if home_vo is None else home_vo).of("alice", 0.0)


@pytest.mark.parametrize("place", range(len(GENERAL)))
@pytest.mark.parametrize(
    "changed",
    [
        (),
        (Requirement(Kind.CURRENT_WRITE_RATE, 51e6),),
        (Requirement(Kind.AVERAGE_WRITE_RATE, 50e6),),
        (Requirement(Kind.CURRENT_WRITE_RATE, 50e6, 2.0),),
        (Requirement(Kind.CURRENT_WRITE_RATE, 50e6, 1.0, Strictness.HARD),),
        (WRITE, Requirement(Kind.FREE_CAPACITY, 1e9)),
    ],
)
def test_a_change_of_any_set_that_applies_changes_the_digest(
    place: int, changed: tuple[Requirement, ...]
) -> None:
    sets = list(GENERAL)
    sets[place] = RequirementSet(sets[place].level, sets[place].name, changed)
    assert of_alice(*sets) != of_alice(*GENERAL)


def test_another_home_vo_changes_the_digest() -> None:
    assert of_alice(*GENERAL, home_vo={"alice": "physics"}) != of_alice(*GENERAL)
    assert of_alice(*GENERAL, home_vo={}) != of_alice(*GENERAL)


def test_order_revision_author_and_sets_of_others_change_nothing() -> None:
    again = [RequirementSet(one.level, one.name, one.requirements, 7, 5.0, "bob") for one in GENERAL]
    others = (
        RequirementSet(Level.USER, "bob", (WRITE,)),
        RequirementSet(Level.APPLICATION, "bob:dd", (WRITE,)),
        RequirementSet(Level.APPLICATION, "alice2:dd", (WRITE,)),
        RequirementSet(Level.VO, "physics", (WRITE,)),
        RequirementSet(Level.USER, "empty", ()),
    )
    assert of_alice(*reversed(again), *others) == of_alice(*GENERAL)


def announced(service: Any, *users: str) -> dict[str, str]:
    answer = service.post("/v1/nodes/n1/announcements", {"incarnation": "a" * 16, "users": list(users)})
    return {need["user"]: need["generation"] for need in answer.get_json()["needs"]}


def test_an_announcement_is_told_the_generations_of_its_users(service: Any) -> None:
    before = announced(service, "alice", "bob")
    assert set(before) == {"alice", "bob"}
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in before.values())
    assert announced(service, "alice", "bob") == before
    assert announced(service) == {}


@pytest.mark.parametrize("name", ["user/alice", "application/alice:dd"])
def test_a_requirement_that_is_set_reaches_the_next_announcement_of_its_user(service: Any, name: str) -> None:
    before = announced(service, "alice", "bob")
    stated = {"requirements": [{"kind": "current-write-rate", "minimum": 50, "unit": "MB/s"}]}
    assert service.put(f"/v1/requirements/{name}", stated).status_code == 200
    after = announced(service, "alice", "bob")
    assert after["alice"] != before["alice"]
    assert after["bob"] == before["bob"]
    assert service.put(f"/v1/requirements/{name}", {"requirements": []}).status_code == 200
    assert announced(service, "alice", "bob") == before


def test_a_default_of_the_site_reaches_everybody(service: Any) -> None:
    before = announced(service, "alice", "bob")
    stated = {"requirements": [{"kind": "free-capacity", "minimum": 1, "unit": "GB"}]}
    assert service.put("/v1/requirements/site/default", stated).status_code == 200
    after = announced(service, "alice", "bob")
    assert after["alice"] != before["alice"]
    assert after["bob"] != before["bob"]


def test_nothing_is_said_before_the_site_is_read(serve: Any) -> None:
    assert announced(serve(1), "alice") == {}
