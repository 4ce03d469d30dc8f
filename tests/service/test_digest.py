"""By what an agent notices that requirements changed."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from ses_service.decision.needs import Needs
from ses_service.decision.resolve import index_sets
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet, Strictness

KINDS = (Kind.CURRENT_WRITE_RATE, Kind.AVERAGE_WRITE_RATE, Kind.CURRENT_READ_RATE, Kind.AVERAGE_READ_RATE)
NAMES = (
    (Level.USER, "alice"),
    (Level.APPLICATION, "alice:dd"),
    (Level.VO, "materials"),
    (Level.SITE, "default"),
)
HOME = {"alice": "materials"}
GENERAL = tuple(
    RequirementSet(*name, (Requirement(kind, 50e6),)) for name, kind in zip(NAMES, KINDS, strict=True)
)


def of_alice(*sets: RequirementSet, home_vo: dict[str, str] | None = None) -> str:
    homes = HOME if home_vo is None else home_vo
    return Needs(index_sets(sets), homes, (), lambda _user: {}).of("alice", 0.0).generation


@pytest.mark.parametrize("place", range(len(GENERAL)))
@pytest.mark.parametrize(
    "change",
    [
        lambda _kind: (),
        lambda kind: (Requirement(kind, 51e6),),
        lambda _kind: (Requirement(Kind.FREE_CAPACITY, 50e6),),
        lambda kind: (Requirement(kind, 50e6, 2.0),),
        lambda kind: (Requirement(kind, 50e6, 1.0, Strictness.HARD),),
        lambda kind: (Requirement(kind, 50e6), Requirement(Kind.FREE_CAPACITY, 1e9)),
    ],
)
def test_a_change_of_any_set_that_applies_changes_the_digest(
    place: int, change: Callable[[Kind], tuple[Requirement, ...]]
) -> None:
    sets = list(GENERAL)
    sets[place] = RequirementSet(*NAMES[place], change(KINDS[place]))
    assert of_alice(*sets) != of_alice(*GENERAL)


def test_a_set_that_says_nothing_else_than_a_more_particular_one_changes_nothing() -> None:
    hidden = RequirementSet(Level.SITE, "default", (*GENERAL[3].requirements, Requirement(KINDS[0], 9e6)))
    assert of_alice(*GENERAL[:3], hidden) == of_alice(*GENERAL)


def test_another_home_vo_changes_the_digest() -> None:
    assert of_alice(*GENERAL, home_vo={"alice": "physics"}) != of_alice(*GENERAL)
    assert of_alice(*GENERAL, home_vo={}) != of_alice(*GENERAL)


def test_order_revision_author_and_sets_of_others_change_nothing() -> None:
    again = [
        RequirementSet(stated.level, stated.name, stated.requirements, 7, 5.0, "bob") for stated in GENERAL
    ]
    wanted = (Requirement(Kind.FREE_CAPACITY, 1e9),)
    others = (
        RequirementSet(Level.USER, "bob", wanted),
        RequirementSet(Level.APPLICATION, "bob:dd", wanted),
        RequirementSet(Level.APPLICATION, "alice2:dd", wanted),
        RequirementSet(Level.VO, "physics", wanted),
        RequirementSet(Level.USER, "empty", ()),
    )
    assert of_alice(*reversed(again), *others) == of_alice(*GENERAL)


def announced(service: Any, *users: str) -> dict[str, str]:
    answer = service.post("/v1/nodes/n1/announcements", {"incarnation": "a" * 16, "users": list(users)})
    return {need["user"]: need["generation"] for need in answer.get_json()["needs"]}


def test_an_announcement_is_told_the_generations_of_its_users(service: Any) -> None:
    before = announced(service, "alice", "bob")
    assert set(before) == {"alice", "bob"}
    assert all(re.fullmatch("[0-9a-f]{16}", generation) for generation in before.values())
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
