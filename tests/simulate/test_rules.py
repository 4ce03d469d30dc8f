"""Each placement rule keeps to its own published rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from ses_service.question import View
from ses_service.selection import decide
from ses_simulate.monitor import Sample
from ses_simulate.policies import POLICIES, make
from ses_simulate.policies.buckets import bucket_of
from ses_simulate.policies.interface import File, World
from ses_simulate.policies.lustre import FreeSpace, RoundRobin, interleaved
from ses_simulate.policies.ours import Ours

Make = Callable[..., World]


def sample(busy: Sequence[float], taken: float = 5.0, free: float = 1e12) -> Sample:
    rates = [part * 100.0 for part in busy]
    return Sample(taken, 5.0, [0.0] * len(busy), rates, list(busy), [], [free] * len(busy))


def chosen(policy: object, count: int, now: float = 6.0) -> list[int]:
    return [policy.choose(now, File(number, 10.0)) for number in range(count)]  # type: ignore[attr-defined]


def test_round_robin_takes_all_in_turn(world: Make) -> None:
    order = chosen(RoundRobin(world(5)), 50)
    assert all(sorted(order[at : at + 5]) == [0, 1, 2, 3, 4] for at in range(0, 50, 5))
    assert order[:45] == order[5:]


def test_round_robin_begins_anew_after_its_count(world: Make) -> None:
    reseed = (2000 // 4 + 30) * 4
    order = chosen(RoundRobin(world(4)), 20 * reseed)
    starts = {order[at] for at in range(0, len(order), reseed)}
    assert len(starts) > 1, "twenty random starts among four elements are never all the same"


def test_round_robin_puts_the_elements_of_one_machine_apart() -> None:
    assert interleaved([0, 0, 1, 1]) == [0, 2, 1, 3]
    assert sorted(interleaved([0, 0, 0, 0, 1, 1])) == [0, 1, 2, 3, 4, 5]


def test_even_space_is_dealt_in_turn(world: Make) -> None:
    assert sorted(chosen(FreeSpace(world(4, free=[1000, 950, 900, 840])), 4)) == [0, 1, 2, 3]


def test_uneven_space_is_drawn_by_weight_and_penalised(world: Make) -> None:
    policy = FreeSpace(world(4, free=[1000, 1000, 100, 100]))
    counted = Counter(chosen(policy, 4000))
    roomy = counted[0] + counted[1]
    assert 0.85 < roomy / 4000 < 0.96, "free space is 10 to 1"
    order = chosen(policy, 4000)
    repeats = sum(one == other for one, other in pairwise(order))
    assert repeats / 4000 < 0.43, "what was just used weighs less than its space alone (0.45)"


def test_a_full_element_gets_nothing(world: Make) -> None:
    assert 2 not in chosen(FreeSpace(world(3, free=[1000, 500, 0])), 500)


@pytest.mark.parametrize(
    ("used", "bucket"), [(0, 0), (0.01, 1), (0.2, 1), (0.21, 2), (0.8, 4), (0.9, 5), (3, 5)]
)
def test_buckets_are_a_fifth_wide(used: float, bucket: int) -> None:
    assert bucket_of(used) == bucket


def test_buckets_take_the_best_first_and_each_once(world: Make) -> None:
    policy = POLICIES["buckets"](world(4))
    policy.observe(5.0, sample([0.5, 0.0, 0.9, 0.0]))
    order = chosen(policy, 4)
    assert sorted(order[:2]) == [1, 3]
    assert order[2:] == [0, 2]


def test_stale_argmin_sends_all_to_the_best_until_the_next_sample(world: Make) -> None:
    policy = POLICIES["stale-argmin"](world(4))
    policy.observe(5.0, sample([0.5, 0.1, 0.9, 0.3]))
    assert set(chosen(policy, 20)) == {1}


def test_observed_throughput_sends_all_to_the_busiest(world: Make) -> None:
    policy = POLICIES["observed-throughput"](world(4))
    policy.observe(5.0, sample([0.5, 0.1, 0.9, 0.3]))
    assert set(chosen(policy, 20)) == {2}


def test_linear_flow_herds_and_convex_flow_spreads(world: Make) -> None:
    for name, places in (("min-cost-flow", {1}), ("convex-flow", {0, 1, 2, 3})):
        policy = POLICIES[name](world(4))
        chosen(policy, 8)
        policy.observe(5.0, sample([0.5, 0.1, 0.9, 0.3]))
        assert set(chosen(policy, 8)) == places, name


def test_ours_is_the_decision_of_the_service(world: Make) -> None:
    one = world(6)
    policy = Ours(one)
    for number in range(40):
        now = number * 0.7
        if number % 9 == 8:
            policy.observe(now, sample([0.2 * (number % 5), 0.9, 0.0, 0.4, 1.0, 0.1], taken=now))
        file = File(number, 10.0)
        view: View = policy.view()
        expected = decide(policy.question(file), view, now, policy.policies).candidates[0].element.target
        assert policy.choose(now, file) == int(expected)
        if number % 3 == 2:
            policy.closed(now, file, int(expected))


def test_ours_spreads_a_burst_over_all(world: Make) -> None:
    policy = Ours(world(6))
    policy.observe(5.0, sample([0.0] * 6))
    files = [File(number, 10.0) for number in range(12)]
    assert Counter(policy.deal(6.0, files)) == Counter(dict.fromkeys(range(6), 2))


@pytest.mark.parametrize("name", POLICIES)
def test_every_rule_works_before_the_first_sample_and_for_many_deciders(name: str, world: Make) -> None:
    for deciders in (1, 3):
        policy = make(name, replace(world(4), deciders=deciders))
        places = [policy.choose(0.0, File(number, 1.0, decider=number % deciders)) for number in range(30)]
        assert set(places) <= {0, 1, 2, 3}
