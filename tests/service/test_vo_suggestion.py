"""What a VO could require, by what its members state and get: a proposal that changes nothing."""

from dataclasses import replace
from typing import Any

import pytest
from ses_service.decision.vo_suggestion import stated, suggest
from ses_service.ledger.achieved import Verdict
from ses_service.ledger.files import File
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet, Strictness

MB, GB = 1e6, 1e9
WRITE, READ, FREE = Kind.CURRENT_WRITE_RATE, Kind.CURRENT_READ_RATE, Kind.FREE_CAPACITY
LATENCY = Kind("latency", "ms", 1e-3, at_most=True)
HOMES = {"alice": "m", "bob": "m", "carol": "m", "eve": "other"}


def sets(*made: tuple[Level, str, list[Requirement]]) -> Any:
    return {(level, name): RequirementSet(level, name, tuple(wanted)) for level, name, wanted in made}


def files(kind: Kind, verdict: Verdict | None, *achieved: float) -> list[File]:
    return [
        File("p", "alice", "dd", "m", None, "n1", "union/b0", None, 0.0, 1.0, verdict=verdict,
             kind=kind.record, achieved=rate * MB)
        for rate in achieved
    ]  # fmt: skip


def test_a_member_counts_once_with_the_strictest_that_holds_now() -> None:
    known = sets(
        (Level.USER, "alice", [Requirement(WRITE, 10 * MB), Requirement(LATENCY, 0.005)]),
        (Level.APPLICATION, "alice:dd", [Requirement(WRITE, 30 * MB), Requirement(LATENCY, 0.002)]),
        (Level.APPLICATION, "alice:cp", [Requirement(WRITE, 90 * MB, valid_until=5.0)]),
        (Level.USER, "eve", [Requirement(WRITE, 500 * MB)]),
        (Level.VO, "m", [Requirement(WRITE, 400 * MB)]),
    )
    suggested = stated("m", HOMES, known, now=10.0)
    assert list(suggested) == ["alice"]
    assert {requirement.kind: requirement.bound for requirement in suggested["alice"]} == {
        WRITE: 30 * MB,
        LATENCY: 0.002,
    }


def test_the_middle_of_the_members_is_proposed_and_never_as_hard() -> None:
    hard = Requirement(WRITE, 50 * MB, strictness=Strictness.HARD, unit="MiB/s")
    members = {"alice": [Requirement(WRITE, 10 * MB)], "bob": [hard], "carol": [Requirement(WRITE, 90 * MB)]}
    (suggestion,) = suggest(members, [])
    assert suggestion.proposed == Requirement(WRITE, 50 * MB)
    assert (suggestion.members, suggestion.least, suggestion.middle, suggestion.most, suggestion.got) == (
        3,
        10 * MB,
        50 * MB,
        90 * MB,
        None,
    )


def test_what_few_state_is_shown_and_not_proposed() -> None:
    members = {
        "alice": [Requirement(WRITE, 10 * MB), Requirement(FREE, 5 * GB)],
        "bob": [Requirement(WRITE, 20 * MB)],
        "carol": [Requirement(READ, 5 * MB)],
    }
    proposed = {suggestion.kind: suggestion.proposed for suggestion in suggest(members, [])}
    assert proposed[WRITE] == Requirement(WRITE, 10 * MB)
    assert proposed[FREE] is None
    assert proposed[READ] is None


@pytest.mark.parametrize(
    ("kind", "bound", "got", "proposed"),
    [(WRITE, 50 * MB, 20, 20 * MB), (WRITE, 50 * MB, 70, 50 * MB), (LATENCY, 2 * MB, 5, 5 * MB)],
)
def test_what_most_files_missed_is_not_asked_for(
    kind: Kind, bound: float, got: float, proposed: float
) -> None:
    members = {"alice": [Requirement(kind, bound)], "bob": [Requirement(kind, bound)]}
    looked_at = [
        *files(kind, Verdict.MISSED, got, got + 1, got - 1),
        *files(kind, Verdict.CANNOT_SAY, 9999),
        *files(READ, Verdict.MET, 1),
    ]
    (suggestion,) = suggest(members, looked_at)
    assert suggestion.proposed is not None
    assert (suggestion.proposed.bound, suggestion.got, suggestion.files) == (proposed, got * MB, 3)


def test_over_http_it_changes_nothing_and_users_may_not_ask(serve: Any, site: Any) -> None:
    environment = replace(site.equal(1).environment, home_vo={"alice": "m", "bob": "m"})
    service = serve(environment).refresh()
    for user, bound in (("alice", 10), ("bob", 30)):
        wanted = {"requirements": [{"kind": "current-write-rate", "minimum": bound, "unit": "MB/s"}]}
        assert service.put(f"/v1/requirements/user/{user}", wanted).status_code == 200
    answer = service.get("/v1/requirements/vo/m/suggestion").get_json()
    (suggestion,) = answer["suggested"]
    assert (
        answer["members"],
        suggestion["least"],
        suggestion["most"],
        suggestion["proposed"]["minimum"],
    ) == (2, 10, 30, 10)
    assert answer["stored"]["revision"] == service.get("/v1/requirements/vo/m").get_json()["revision"] == 0
    assert service.get("/v1/requirements/vo/a%2Fb/suggestion").status_code == 404
