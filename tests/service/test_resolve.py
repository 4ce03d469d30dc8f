"""Requirements: per kind the most particular level wins, and says so."""

import itertools
from dataclasses import replace

import pytest
from ses_service.api import render
from ses_service.decision.resolve import index_sets, passed_over, resolve, sets_for_user
from ses_service.model.entities import (
    Kind,
    Level,
    Profile,
    Requirement,
    RequirementSet,
    Strictness,
    Subject,
    with_home_vo,
)
from ses_service.model.limits import MAX_REQUIREMENTS

ALICE = Subject("alice", application="dd", vo="materials")
NAMES = {Level.APPLICATION: "alice:dd", Level.USER: "alice", Level.VO: "materials", Level.SITE: "default"}
APPLYING = tuple(level for level in Level if level is not Level.PROFILE)


def rate(minimum: float, kind: Kind = Kind.CURRENT_WRITE_RATE) -> Requirement:
    return Requirement(kind, minimum)


@pytest.mark.parametrize(
    "stated", [chosen for size in range(1, 6) for chosen in itertools.combinations(APPLYING, size)]
)
def test_the_most_particular_level_that_states_a_kind_wins(stated: tuple[Level, ...]) -> None:
    sets = index_sets(
        RequirementSet(level, NAMES[level], (rate(float(place)),))
        for place, level in enumerate(APPLYING)
        if level in stated and level is not Level.EXPLICIT
    )
    explicit = [rate(0.0)] if Level.EXPLICIT in stated else []
    (need,) = resolve(ALICE, explicit, sets, 0.0)
    assert need.level is stated[0]
    assert need.level_name == NAMES.get(stated[0], "request")
    assert need.requirement.bound == APPLYING.index(stated[0])


def test_a_stored_profile_applies_to_nobody_by_itself() -> None:
    sets = index_sets(RequirementSet(Level.PROFILE, name, (rate(1),)) for name in ("alice:dd", "alice"))
    assert resolve(ALICE, [], sets, 0.0) == ()


def test_kinds_are_resolved_one_by_one() -> None:
    sets = index_sets(
        [
            RequirementSet(Level.USER, "alice", (rate(1), rate(2, Kind.FREE_CAPACITY))),
            RequirementSet(
                Level.SITE, "default", (rate(3, Kind.FREE_CAPACITY), rate(4, Kind.AVERAGE_READ_RATE))
            ),
        ]
    )
    resolved = resolve(ALICE, [rate(9)], sets, 0.0)
    assert [(need.requirement.kind, need.requirement.bound, need.level) for need in resolved] == [
        (Kind.AVERAGE_READ_RATE, 4, Level.SITE),
        (Kind.CURRENT_WRITE_RATE, 9, Level.EXPLICIT),
        (Kind.FREE_CAPACITY, 2, Level.USER),
    ]


def test_sets_of_others_do_not_apply() -> None:
    sets = index_sets(
        [
            RequirementSet(Level.USER, "bob", (rate(1),)),
            RequirementSet(Level.APPLICATION, "alice:cp", (rate(2),)),
            RequirementSet(Level.APPLICATION, "bob:dd", (rate(3),)),
            RequirementSet(Level.VO, "physics", (rate(4),)),
        ]
    )
    assert resolve(ALICE, [], sets, 0.0) == ()
    assert resolve(Subject("alice"), [], sets, 0.0) == ()


def test_the_home_vo_applies_unless_one_is_named() -> None:
    homes = {"alice": "materials"}
    assert with_home_vo(Subject("alice"), homes).vo == "materials"
    assert with_home_vo(Subject("alice", vo="physics"), homes).vo == "physics"
    assert with_home_vo(Subject("bob"), homes).vo is None


def test_the_sets_of_a_person_are_all_that_can_apply_to_them() -> None:
    sets = index_sets(
        RequirementSet(level, name, (rate(1),))
        for level, name in [
            (Level.SITE, "default"),
            (Level.VO, "materials"),
            (Level.VO, "physics"),
            (Level.USER, "alice"),
            (Level.USER, "alice2"),
            (Level.APPLICATION, "alice:dd"),
            (Level.APPLICATION, "alice:cp"),
            (Level.APPLICATION, "alice2:cp"),
        ]
    )
    levels = [(stated.level, stated.name) for stated in sets_for_user("alice", "materials", sets)]
    assert levels == [
        (Level.APPLICATION, "alice:cp"),
        (Level.APPLICATION, "alice:dd"),
        (Level.USER, "alice"),
        (Level.VO, "materials"),
        (Level.SITE, "default"),
    ]


def test_what_is_passed_over_is_reported_with_what_hides_it() -> None:
    scratch = Profile("scratch", (Requirement(Kind.CURRENT_READ_RATE, 5), Requirement(Kind.FREE_CAPACITY, 7)))
    sets = index_sets(
        [
            RequirementSet(Level.USER, "alice", (Requirement(Kind.FREE_CAPACITY, 1),), profile=scratch),
            RequirementSet(
                Level.VO,
                "materials",
                (
                    replace(Requirement(Kind.CURRENT_WRITE_RATE, 2), valid_from=200.0),
                    Requirement(Kind.FREE_CAPACITY, 3),
                ),
            ),
            RequirementSet(Level.SITE, "default", (Requirement(Kind.CURRENT_WRITE_RATE, 4),)),
            RequirementSet(Level.USER, "bob", (Requirement(Kind.FREE_CAPACITY, 9),)),
        ]
    )
    alice = Subject("alice", vo="materials")

    def named(now: float) -> list[tuple[str, str, float, str | None]]:
        return [
            (
                passed.stated.level.value,
                passed.stated.requirement.kind.value,
                passed.stated.requirement.bound,
                passed.hidden_by and passed.hidden_by.level.value,
            )
            for passed in passed_over(alice, sets, now)
        ]

    assert named(100.0) == [
        ("user", "free-capacity", 7, "user"),
        ("vo", "current-write-rate", 2, None),
        ("vo", "free-capacity", 3, "user"),
    ]
    assert named(200.0) == [
        ("user", "free-capacity", 7, "user"),
        ("vo", "free-capacity", 3, "user"),
        ("site", "current-write-rate", 4, "vo"),
    ]
    assert passed_over(Subject("carol"), sets, 0.0) == ()


def test_a_profile_counts_only_in_its_time_and_after_what_more_particular_levels_say() -> None:
    daily = Profile("daily", (replace(rate(7), valid_from=100.0, valid_until=200.0),))
    sets = index_sets(
        [
            RequirementSet(Level.APPLICATION, "alice:dd", (replace(rate(1), valid_from=150.0),)),
            RequirementSet(Level.USER, "alice", (), profile=daily),
            RequirementSet(Level.SITE, "default", (rate(3),)),
        ]
    )
    resolved = {now: resolve(ALICE, (), sets, now)[0] for now in (99.0, 100.0, 150.0, 199.0, 200.0)}
    assert {now: need.requirement.bound for now, need in resolved.items()} == {
        99.0: 3.0,
        100.0: 7.0,
        150.0: 1.0,
        199.0: 1.0,
        200.0: 1.0,
    }
    assert resolved[100.0].profile == "daily"


def test_of_more_requirements_than_a_file_can_have_hard_ones_count_and_the_others_are_named() -> None:
    kinds = [Kind(f"k{number}", "s", 1.0) for number in range(MAX_REQUIREMENTS + 1)]
    stated = [Requirement(kind, 1.0) for kind in kinds]
    stated[-1] = replace(stated[-1], strictness=Strictness.HARD)
    sets = index_sets([RequirementSet(Level.USER, "alice", tuple(stated))])
    counting = [need.requirement for need in resolve(Subject("alice"), (), sets, 0.0)]
    assert counting == [*stated[:-2], stated[-1]]
    named = render.passed_over(passed_over(Subject("alice"), sets, 0.0), 0.0)
    assert [(passed["kind"], passed["reason"]) for passed in named] == [
        ("k7", "more than the 8 kinds a file can have, of which hard ones go first")
    ]
