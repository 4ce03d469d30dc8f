"""Several services that place at the same moment and hear of each other a little later."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from ses_service.beside import LARGEST_BATCH, Beside, others_of
from ses_service.placement import EndReason
from ses_service.selection import deal

LOTS = [number / 200 for number in range(200)]


def chosen(site: Any, beside: Beside | None, *wanted: Any, count: int = 1, **asked: Any) -> list[str]:
    """What is dealt for one question; nothing is booked."""
    found: list[str] = []

    def book(choice: Any, *_: object) -> None:
        found.append(choice.element.id.partition("/")[2])

    question = replace(site.question(*wanted, **asked), limit=10)
    deal(question, site.view, site.NOW, site.policies, count, book, beside=beside)
    return found


def drawn(site: Any, expected: float, *wanted: Any, **asked: Any) -> Counter[str]:
    """How often each element is chosen, over all lots."""
    return Counter(chosen(site, Beside(expected, lot), *wanted, **asked)[0] for lot in LOTS)


def test_alike_elements_are_chosen_equally_often(site: Any) -> None:
    found = drawn(site.equal(10).see_all(), 5.0)
    assert len(found) == 10
    assert max(found.values()) <= 1.2 * len(LOTS) / 10


def test_faster_elements_are_chosen_in_proportion(site: Any) -> None:
    found = drawn(site(site.element("a", write=300), site.element("b", write=100)).see_all(), 50.0)
    assert found["a"] / found["b"] == pytest.approx(3, rel=0.2)


def test_who_carries_more_than_the_others_will_get_is_left_out(site: Any) -> None:
    found = drawn(site.equal(4).see_all().carry("b0", 9, at=site.NOW), 3.0)
    assert set(found) == {"b1", "b2", "b3"}


def test_what_serves_the_need_less_well_is_never_drawn(site: Any) -> None:
    two = site(site.element("a"), site.element("b"), site.element("slow", write=40)).see_all()
    assert set(drawn(two, 100.0, site.write(30))) == {"a", "b", "slow"}
    assert set(drawn(two, 1.0, site.write(90))) == {"a", "b"}


def test_without_others_or_where_they_place_next_to_nothing_the_best_is_taken(site: Any) -> None:
    one = site(
        site.element("best", write=101), *(site.element(f"b{number}") for number in range(9))
    ).see_all()
    assert chosen(one, None) == ["best"]
    assert set(drawn(one, 0.01)) == {"best"}
    assert len(drawn(one, 5.0)) > 5


def test_on_a_small_site_every_service_looks_at_all_elements_however_little_is_placed(
    site: Any,
) -> None:
    """Else each would have another line, on which lots that lie apart begin on the same element."""
    assert len(drawn(site.equal(64).see_all(), 0.1)) == 64


def test_a_batch_is_drawn_as_a_whole_and_knows_its_own(site: Any) -> None:
    found = Counter(chosen(site.equal(8).see_all(), Beside(4.0, 0.3), count=16))
    assert sum(found.values()) == 16
    assert max(found.values()) <= 4
    assert len(found) >= 6


def test_a_batch_too_large_to_be_drawn_goes_round_all(site: Any) -> None:
    count = 2 * LARGEST_BATCH
    found = Counter(chosen(site.equal(8).see_all(), Beside(4.0, 0.3), count=count))
    assert set(found.values()) == {count // 8}


def test_a_full_element_is_passed_over(site: Any) -> None:
    size = 400 * site.GB
    full = site.equal(3).see_all(free=500)
    assert sorted(chosen(full, Beside(20.0, 0.1), count=5, expected_bytes=size)) == ["b0", "b1", "b2"]


def test_the_same_lot_gives_the_same_element(site: Any) -> None:
    equal = site.equal(20).see_all()
    assert len({chosen(equal, Beside(5.0, 0.4), seed=seed)[0] for seed in range(20)}) == 1


def test_what_carries_a_file_of_our_own_is_passed_over(site: Any) -> None:
    equal = site.equal(20).see_all()
    (first,) = chosen(equal, Beside(50.0, 0.4))
    (second,) = chosen(equal.carry(first, at=site.NOW), Beside(50.0, 0.4))
    assert second != first


def test_a_file_of_another_service_that_may_be_gone_leaves_the_element_the_first(site: Any) -> None:
    equal = site.equal(20).see_all()
    (first,) = chosen(equal, Beside(20.0, 0.4))
    row = equal.view.table.index[f"union/{first}"]
    told = np.zeros(20)
    told[row] = 1.0
    busy = equal.carry(first, at=site.NOW)
    assert chosen(busy, Beside(20.0, 0.4, told, 0.05 * told)) != [first]
    assert chosen(busy, Beside(20.0, 0.4, told, 0.15 * told)) == [first]


def test_refused_elements_are_never_chosen(site: Any) -> None:
    some = site.equal(20).see_all()
    refused = frozenset(f"union/b{number}" for number in range(0, 20, 2))
    found = {chosen(some, Beside(50.0, lot), exclude=refused)[0] for lot in LOTS}
    assert found == {f"b{number}" for number in range(1, 20, 2)}


def test_streams_of_nobody_known_are_strangers_less_the_half_that_a_prediction_keeps() -> None:
    streams = np.array([0.0, 1.0, 1.5, 3.9, 2.0, 4.0, 0.5])
    own = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 2.0])
    carried = np.array([0.0, 0.0, 0.0, 0.0, 2.0, 1.0, 1.0])
    doubted = np.array([0.0, 0.0, 0.0, 0.0, 0.5, 0.25, 0.5])
    assert others_of(streams, own, carried, doubted).tolist() == [0.0, 0.0, 1.0, 2.0, 1.5, 1.75, 0.0]


def hear_of_each_other(services: list[Any]) -> None:
    for one, other in permutations(services, 2):
        name = other.runtime.instance
        assert one.runtime.desk.books.take_changes(name, 1, full=True, changes=[])


def test_two_services_that_hear_of_each_other_do_not_choose_alike(
    make_service: Any, site: Any, clock: Any
) -> None:
    services = [make_service(site.equal(40).environment, clock).refresh() for _ in range(2)]
    hear_of_each_other(services)
    ask = {"subject": {"user": "alice", "node": "n1"}, "seed": 1}
    same = 0
    for _ in range(20):
        answers = [service.post("/v1/placements", ask).get_json() for service in services]
        same += len({answer["placements"][0]["element"] for answer in answers}) == 1
    assert same <= 10


def test_services_that_hear_of_each_other_begin_each_on_an_element_of_its_own(
    make_service: Any, site: Any, clock: Any
) -> None:
    services = [make_service(site.equal(6).environment, clock).refresh() for _ in range(6)]
    hear_of_each_other(services)
    ask = {"subject": {"user": "alice", "node": "n1"}, "seed": 1}

    def placed(service: Any) -> Any:
        return service.post("/v1/placements", ask).get_json()["placements"][0]

    for service in services * 10:
        service.runtime.desk.end(placed(service)["placement_id"], EndReason.CLOSED, None)
    assert len({placed(service)["element"] for service in services}) == 6
