"""The demonstration's check: a file is right where no element was nearer to what the file needs."""

import random

import pytest
from ses.demo.branches import PLANS
from ses.demo.needs import NEEDS
from ses.demo.verify import Verdict
from ses.quantities import requirement
from ses_client.messages.requirements import Subject
from ses_client.messages.selections import Candidate, PlacementRecord, Rates, Refusal

RUNS = 20_000
# who runs the programs of the demonstration whose needs are in NEEDS, in their order
SUBJECTS = (
    ("user", "root"),
    ("application", "root:tar"),
    ("vo", "materials"),
    ("user", "root"),
    ("application", "root:python3"),
    ("vo", "materials"),
    ("user", "root"),
)


def candidate(rank, element, distance):
    return Candidate(
        rank=rank,
        element=element,
        distance=distance,
        free_gb=None,
        predicted=(),
        age_seconds=None,
        basis="monitor",
        available=Rates(read_mb_s=None, write_mb_s=None),
    )


def placement(element, candidates, refused=()):
    return PlacementRecord(
        placement_id="aa",
        state="ended",
        subject=Subject(user="root", application="dd"),
        element=element,
        target=f"/{element}",
        path="/u/f",
        distance=0.0,
        candidates=tuple(candidates),
        refused=tuple(refused),
    )


def decision(element, texts):
    """A placement on ``element`` by needs, on the demonstration's branches with b1 and b3 busy."""
    needs = {need.kind: need for need in map(requirement, texts)}
    rate, room = needs["current-write-rate"].bound, needs.get("free-capacity")
    ranked, refused = [], []
    for plan in PLANS:
        if room is not None and plan.free / 1000 < room.bound:
            refused.append(Refusal(element=plan.name, reason="hard-requirement", detail=""))
            continue
        offered = plan.write_rate / (2 if plan.name in ("b1", "b3") else 1)
        ranked.append((max(0.0, 1 - offered / rate), plan.name))
    ranked.sort()
    candidates = [candidate(rank, name, distance) for rank, (distance, name) in enumerate(ranked, 1)]
    return placement(element, candidates, refused)


def is_right(element, texts):
    return Verdict(None, decision(element, texts)).as_decided


@pytest.mark.parametrize(
    ("element", "right"), [("b2", True), ("b4", True), ("b1", False), ("b3", False), ("b5", False)]
)
def test_equally_near_elements_are_right_and_no_others(element, right):
    ranked = [candidate(1, "b2", 0.1), candidate(2, "b4", 0.11), candidate(3, "b1", 0.2)]
    refused = [Refusal(element="b3", reason="no-space", detail="It is full.")]
    assert Verdict(None, placement(element, ranked, refused)).as_decided is right


def test_without_a_decision_nothing_is_right():
    assert not Verdict("/b2", None).as_decided
    assert not Verdict("/b2", placement("b2", [])).as_decided


def test_the_rules_own_choice_passes_and_choice_by_chance_almost_never():
    branches = [plan.name for plan in PLANS]
    asked = [NEEDS[subject] for subject in SUBJECTS]
    for texts in asked:
        first = decision("", texts).candidates[0].element
        assert is_right(first, texts)
    chance = random.Random(1)
    passed = sum(all(is_right(chance.choice(branches), texts) for texts in asked) for _ in range(RUNS))
    assert passed < RUNS / 100
