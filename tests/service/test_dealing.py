"""Batches: dealt as if asked for one by one, as round robin inside the best elements."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from generated_sites import build, requirements, sites
from hypothesis import given, settings
from hypothesis import strategies as st
from ses_service.model import Requirement
from ses_service.policies import Policies
from ses_service.selection import deal

Site = Any


def test_a_storm_goes_round_robin_over_equal_idle_elements(site: Site) -> None:
    chosen = site.equal(8).see_all().place(64)
    first = chosen[:8]
    assert len(set(first)) == 8
    assert [chosen[start : start + 8] for start in range(0, 64, 8)] == [first] * 8


def test_a_storm_stays_inside_the_best_elements_while_they_are_best(site: Site) -> None:
    fast = [site.element(f"fast{number}", write=1000) for number in range(4)]
    slow = [site.element(f"slow{number}", write=100) for number in range(20)]
    chosen = site(*slow, *fast).see_all().place(36)
    assert Counter(chosen) == {f"fast{number}": 9 for number in range(4)}


def test_a_storm_is_shared_in_proportion_to_capability(site: Site) -> None:
    unequal = site(*(site.element(f"b{rate}", write=rate) for rate in (100, 200, 300, 400))).see_all()
    counts = Counter(unequal.place(1000))
    assert all(abs(counts[f"b{rate}"] - rate) <= 3 for rate in (100, 200, 300, 400))


def test_one_element_far_ahead_takes_the_whole_batch(site: Site) -> None:
    elements = [site.element("huge", write=1e6), *(site.element(f"b{n}", write=1) for n in range(50))]
    assert Counter(site(*elements).see_all().place(1000)) == {"huge": 1000}


def test_a_batch_is_spread_even_when_the_ledger_does_not_count_it_as_streams(site: Site) -> None:
    unequal = site(site.element("fast", write=300), site.element("slow", write=100)).see_all()
    unequal.ledger = replace_booking(unequal)
    assert Counter(unequal.place(40)) == {"fast": 30, "slow": 10}


def replace_booking(whole: Any) -> Any:
    """A ledger that takes note of nothing."""

    class Deaf:
        counts = whole.ledger.counts

        def book(self, placement: object) -> None:
            """Count nothing."""

    return Deaf()


@given(sites, requirements, st.integers(1, 40), st.none() | st.sampled_from([0.0, 3e9, 2e11]))
@settings(max_examples=60, deadline=None)
def test_a_batch_chooses_what_single_questions_would(
    site: Site, described: list[Any], wanted: list[Requirement], count: int, size: float | None
) -> None:
    batch, alone = (build(site, described) for _ in range(2))
    together = batch.place(count, *wanted, expected_bytes=size)
    one_by_one = [name for _ in together for name in alone.place(1, *wanted, expected_bytes=size)]
    assert together == one_by_one
    if len(together) < count:
        before = {
            one.element.id for one in build(site, described).decide(*wanted, expected_bytes=size).candidates
        }
        left = {one.element.id for one in alone.decide(*wanted, expected_bytes=size).candidates}
        assert not before & left, "the batch ended while an element that could be chosen was left"


def test_what_a_batch_predicts_is_what_single_questions_are_told(site: Site) -> None:
    def build_site() -> Any:
        elements = [site.element(f"b{rate}", write=rate, read=2 * rate) for rate in (50, 80, 130)]
        return site(*elements, policies=Policies()).see_all(write=5, read=3, free=100)

    batch, alone = build_site(), build_site()
    told: list[Any] = []
    need = (site.write(40), site.free(10))

    def book(whole: Any, into: list[Any]) -> Any:
        def book_one(chosen: Any, *_: object) -> None:
            into.append(replace(chosen, rank=1))
            whole.ledger.book(whole.placement(chosen.element, size=1e9))

        return book_one

    question = site.question(*need, expected_bytes=1e9)
    deal(question, batch.view, site.NOW, batch.policies, 20, book(batch, told))
    expected: list[Any] = []
    for _ in range(20):
        deal(question, alone.view, site.NOW, alone.policies, 1, book(alone, expected))
    assert told == expected
