"""decide() over generated sites: what must hold for every one of them."""

import itertools
import math
import re
from typing import Any

import orjson
from generated_sites import build, requirements, sites
from hypothesis import given, settings
from hypothesis import strategies as st
from ses_core import Order
from ses_service.api.render import candidates
from ses_service.ledger.ordered_by import NAMES
from ses_service.ledger.placement import Basis
from ses_service.model.entities import Element, Observation, Requirement

Site = Any
NOW = 1_000_000.0


@given(sites, requirements)
@settings(max_examples=60, deadline=None)
def test_every_element_is_either_ranked_or_refused_with_a_sentence(
    site: Site, described: list[Any], wanted: list[Requirement]
) -> None:
    decision = build(site, described).decide(*wanted)
    ranked = [candidate.element.id for candidate in decision.candidates]
    refused = [refusal.element for refusal in decision.refused]
    assert sorted(ranked + refused) == sorted(f"union/b{place}" for place in range(len(described)))
    assert [candidate.rank for candidate in decision.candidates] == list(range(1, len(ranked) + 1))
    assert all(refusal.detail.endswith(".") for refusal in decision.refused)
    steps = [round(candidate.distance / 0.02, 6) for candidate in decision.candidates]
    assert all(before <= after + 1 for before, after in itertools.pairwise(steps))
    for candidate in decision.candidates:
        assert 0 <= candidate.distance <= 1
        assert candidate.age is None or candidate.age >= 0
        assert candidate.basis is not Basis.MONITOR or (candidate.age is not None and candidate.age <= 10)


@given(sites, requirements)
@settings(max_examples=100, deadline=None)
def test_the_reasons_that_are_printed_tell_the_order(
    site: Site, described: list[Any], wanted: list[Requirement]
) -> None:
    ranked = build(site, described).decide(*wanted).candidates
    for candidate in ranked:
        assert bool(candidate.after) == (candidate.ordered_by in NAMES[1:]) == (candidate.rank > 1)
        match = re.search(r"([\d.e+-]+)(?: GB| MB/s)?, (?:that )?before it ([\d.e+-]+)", candidate.after)
        if candidate.ordered_by == "room":
            rooms = re.findall(r"([\d.e+-]+) GB free(?: for (\d+) streams)?", candidate.after)
            each = [float(free) / float(streams or 1) for free, streams in rooms]
            assert each == sorted(each), candidate.after
        elif match:
            mine, before = map(float, match.groups())
            assert (mine <= before) if "get less" in candidate.after else (mine >= before), candidate.after


@given(sites, requirements, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_what_is_said_of_each_alone_gives_the_order(
    site: Site, described: list[Any], wanted: list[Requirement], dice: Any
) -> None:
    as_read = orjson.dumps(candidates(build(site, described).decide(*wanted).candidates, {}))
    ranked = orjson.loads(as_read)

    def numbers(candidate: dict[str, Any]) -> list[float]:
        assert list(candidate["order"]) == list(NAMES[1:-1])
        return [-math.inf if number is None else number for number in candidate["order"].values()]

    shuffled = [*ranked]
    dice.shuffle(shuffled)
    assert sorted(shuffled, key=numbers) == ranked
    for before, candidate in itertools.pairwise(ranked):
        differ = next(
            name for name in candidate["order"] if candidate["order"][name] != before["order"][name]
        )
        assert differ == ("distance" if candidate["ordered_by"] == "harm" else candidate["ordered_by"])


def test_low_space_is_said_of_an_idle_element_that_comes_last(site: Site) -> None:
    whole = site.equal(2).see("b0", free=40).see("b1")
    last = whole.decide().candidates[-1]
    assert (last.element.id, last.ordered_by) == ("union/b0", "room")
    assert last.after == "low on space: 40 GB free, before it 500 GB free"


def test_names_of_what_decides_are_those_of_the_core() -> None:
    assert list(NAMES) == [order.name.lower().replace("_", "-") for order in Order]


@given(sites, requirements, st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_a_limit_gives_the_first_ranks_of_the_whole_order(
    site: Site, described: list[Any], wanted: list[Requirement], limit: int
) -> None:
    whole = build(site, described)
    assert whole.decide(*wanted, limit=limit).candidates == whole.decide(*wanted).candidates[:limit]


def test_absurd_observations_count_as_unknown(site: Site) -> None:
    element: Element = site.element("b0")
    whole = site(element)
    for value in (-1.0, float("inf"), float("nan")):
        whole.observed["union/b0"] = Observation("union/b0", NOW, current_write_rate=value, free_bytes=value)
        whole._bind()
        (candidate,) = whole.decide().candidates
        assert candidate.available_write == 100e6
        assert candidate.free == element.capacity_bytes
