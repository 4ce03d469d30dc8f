"""Each placement rule keeps to its own published rules."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from ses_core import Query, defaults, need, table
from ses_service.decision.node_order import order_of_own
from ses_simulate.monitor import Sample
from ses_simulate.policies import RULES, make
from ses_simulate.policies.buckets import bucket_of
from ses_simulate.policies.interface import File, World
from ses_simulate.policies.last_placed import LastPlaced
from ses_simulate.policies.lustre import FreeSpace, RoundRobin, interleaved
from ses_simulate.policies.ours import LeastOpen, Ours, Tickets
from ses_simulate.policies.reports import Reports
from ses_simulate.policies.variants import VARIANTS

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
    repeats = sum(before == after for before, after in pairwise(order))
    assert repeats / 4000 < 0.43, "what was just used weighs less than its space alone (0.45)"


def test_a_full_element_gets_nothing(world: Make) -> None:
    assert 2 not in chosen(FreeSpace(world(3, free=[1000, 500, 0])), 500)


@pytest.mark.parametrize(
    ("used", "bucket"), [(0, 0), (0.01, 1), (0.2, 1), (0.21, 2), (0.8, 4), (0.9, 5), (3, 5)]
)
def test_buckets_are_a_fifth_wide(used: float, bucket: int) -> None:
    assert bucket_of(used) == bucket


def test_buckets_take_the_best_first_and_each_once(world: Make) -> None:
    policy = RULES["buckets"][0](world(4))
    policy.observe(5.0, sample([0.5, 0.0, 0.9, 0.0]))
    order = chosen(policy, 4)
    assert sorted(order[:2]) == [1, 3]
    assert order[2:] == [0, 2]


def test_stale_argmin_sends_all_to_the_best_until_the_next_sample(world: Make) -> None:
    policy = RULES["stale-argmin"][0](world(4))
    policy.observe(5.0, sample([0.5, 0.1, 0.9, 0.3]))
    assert set(chosen(policy, 20)) == {1}


def test_observed_throughput_sends_all_to_the_busiest(world: Make) -> None:
    policy = RULES["observed-throughput"][0](world(4))
    policy.observe(5.0, sample([0.5, 0.1, 0.9, 0.3]))
    assert set(chosen(policy, 20)) == {2}


def test_linear_flow_herds_and_convex_flow_spreads(world: Make) -> None:
    for name, places in (("min-cost-flow", {1}), ("convex-flow", {0, 1, 2, 3})):
        policy = RULES[name][0](world(4))
        chosen(policy, 8)
        policy.observe(5.0, sample([0.5, 0.1, 0.9, 0.3]))
        assert set(chosen(policy, 8)) == places, name


def test_ours_is_the_choice_of_the_core(world: Make) -> None:
    """With one node and no samples, the core alone tells where files go: fewest open, in the node's order."""
    built = world(6)
    policy = Ours(built)
    order = order_of_own(np.full(6, 100.0), 0.0).tolist()
    files = [File(number, 10.0) for number in range(12)]
    assert [policy.choose(1.0, file) for file in files] == order * 2
    elements = table(6)
    elements["write_rate"] = 100.0
    elements["own"] = [2, 1, 2, 2, 2, 2]
    assert Query(elements, need(), defaults()).choose() == 1
    policy.closed(1.0, files[order.index(1)], 1)
    built.engine.at(2.0, lambda _now: None)
    built.engine.run_until(2.0)
    assert policy.choose(2.0, File(12, 10.0)) == 1


def test_ours_counts_streams_on_a_server_whose_link_the_site_states(world: Make) -> None:
    """Two elements share a link of one's rate: of three files one goes there, without the term two."""
    built = world(4)
    devices = [
        replace(device, group=number // 2, link_rate=100.0 if number < 2 else math.nan)
        for number, device in enumerate(built.devices)
    ]
    limited = replace(built, devices=devices)
    assert sum(element < 2 for element in chosen(Ours(limited), 3)) == 1
    unlimited = chosen(Ours(limited, VARIANTS["no-server-rate"][0]), 4)
    assert unlimited == chosen(Ours(built), 4)
    assert sorted(unlimited) == [0, 1, 2, 3]


def test_ours_sees_strangers_but_not_its_own_files_as_such(world: Make) -> None:
    built = world(4)
    policy = Ours(built)
    policy.observe(5.0, sample([1.0, 0.0, 1.0, 1.0]))
    built.engine.run_until(5.5)
    assert policy.choose(6.0, File(1, 10.0)) == 1
    other = world(2)
    mine = Ours(other)
    first = mine.choose(0.0, File(1, 10.0))
    other.engine.run_until(4.9)
    mine.observe(5.0, sample([0.8 if element == first else 0.3 for element in range(2)]))
    other.engine.run_until(5.5)
    mine.closed(5.5, File(1, 10.0), first)
    other.engine.run_until(5.6)
    assert [mine.choose(6.0, File(number, 10.0)) for number in (2, 3)] == [first, 1 - first]


def test_processes_of_a_job_begin_at_elements_of_their_own(world: Make) -> None:
    policy = Ours(replace(world(64), nodes=8))
    files = [File(number, 1.0, "job", number // 8, number, number - number % 8) for number in range(64)]
    assert sorted(policy.choose(1.0, file) for file in files) == list(range(64))


def test_tickets_pile_up_where_choosing_at_the_create_does_not(world: Make) -> None:
    def places(maker: type[Ours]) -> Counter[int]:
        built = world(8)
        policy = maker(built)
        users = [File(number, 1.0, f"user{number}") for number in range(8)]
        first = [policy.choose(0.1 * number, file) for number, file in enumerate(users)]
        for file, element in zip(users, first, strict=True):
            policy.closed(2.0, file, element)
        built.engine.run_until(10.0)
        again = [replace(file, number=file.number + 8) for file in users]
        return Counter(policy.choose(10.0 + 0.1 * number, file) for number, file in enumerate(again))

    assert max(places(Tickets).values()) >= 5
    assert max(places(Ours).values()) == 1


def test_what_a_node_does_another_hears_of_when_agents_have_spoken(world: Make) -> None:
    reports = Reports(replace(world(4), nodes=2, pace=1.0))

    def heard(node: int, user: str, now: float) -> float:
        reports.advance(now)
        change = sum(
            sign * unheard.streams
            for unheard, sign in reports.known_differently(node, user, now)
            if unheard.row == 3
        )
        return reports.ledger.own[3] + change

    reports.opened(10.0, File(1, 1.0, node=1), 3)
    assert heard(1, "user", 10.0) == 1, "a program sees what its own user did at once"
    assert heard(1, "another", 10.002) == 0, "others on the node within milliseconds"
    assert heard(1, "another", 10.006) == 1
    reports.opened(10.5, File(2, 1.0, node=1), 3)
    knows = [heard(0, "user", 10.5 + step / 100) for step in range(500)]
    assert knows == sorted(knows), "nothing is forgotten"
    assert knows[-1] == 2
    assert knows[0] == 0, "the service knows of the first, but this node's agent did not ask yet"
    assert knows[49] < 2, "the second is told a second after the first"


def test_a_node_hears_often_while_it_creates_files_and_seldom_long_after(world: Make) -> None:
    reports = Reports(replace(world(4), nodes=2))

    def pauses(begin: float, end: float) -> set[float]:
        steps = range(int((end - begin) * 1000))
        last = sorted({round(reports.last_report(0, begin + step / 1000), 6) for step in steps})
        return {round(later - before, 3) for before, later in itertools.pairwise(last[1:])}

    reports.opened(5.0, File(1, 1.0, node=0), 3)
    assert pauses(5.0, 5.9) == {0.05}
    assert pauses(10.0, 11.0) == {0.1}
    assert pauses(1000.0, 1005.0) == {1.0}


def test_a_node_takes_the_idle_element_it_used_longest_ago() -> None:
    last, file = LastPlaced(nodes=2, candidates=3), File(1, 1.0)
    last.placed(1.0, file, 2)
    last.placed(2.0, file, 0)

    def order(file: File, now: float = 5.0) -> list[int]:
        return last.seen(now, file).argsort(kind="stable").tolist()

    assert order(replace(file, user="another"), now=2.001) == [0, 1, 2], "it has not seen the last claim"
    assert order(file, now=2.001) == [1, 2, 0]
    assert order(file) == [1, 2, 0]
    assert order(replace(file, node=1)) == [0, 1, 2], "nodes do not tell each other"


def test_where_others_create_many_files_a_node_forgets_its_own_on_idle_elements() -> None:
    last, file = LastPlaced(nodes=1, candidates=3), File(1, 1.0)
    last.placed(1.0, file, 2)
    last.placed(5.0, file, 0)
    assert last.seen(8.0, file, others=0.9).astype(bool).tolist() == [True, False, True]
    assert last.seen(7.9, file, others=1.0).astype(bool).tolist() == [True, False, True]
    assert last.seen(8.0, file).astype(bool).tolist() == [True, False, False]
    assert last.seen(700.0, file).astype(bool).tolist() == [True, False, True]


def test_of_busy_elements_the_one_anybody_used_longest_ago_comes_first(world: Make) -> None:
    policy = Ours(replace(world(3), nodes=2, pace=0.1))
    files = [File(number, 1e3, f"user{number % 2}", number % 2) for number in range(6)]
    first = [policy.choose(10.0 * number, file) for number, file in enumerate(files[:3])]
    assert sorted(first) == [0, 1, 2]
    assert [policy.choose(30.0 + 10.0 * number, file) for number, file in enumerate(files[3:])] == first


def test_a_close_is_seen_late_where_agents_poll(world: Make) -> None:
    reports = Reports(replace(world(4), close_poll=0.5))
    seen = [reports.closes_at(10.0) for _ in range(200)]
    assert min(seen) >= 10.0
    assert 10.4 < max(seen) <= 10.5


def test_least_open_counts_files_and_nothing_else(world: Make) -> None:
    policy = LeastOpen(world(4))
    policy.observe(5.0, sample([1.0, 0.0, 1.0, 1.0]))
    places = [policy.choose(6.0, File(number, 10.0)) for number in range(8)]
    assert Counter(places) == Counter(dict.fromkeys(range(4), 2))


def test_mergerfs_rules_look_at_space(world: Make) -> None:
    built = world(3, free=[100, 300, 200])
    assert {RULES["mfs"][0](built).choose(0.0, File(1, 1.0))} == {1}
    assert {RULES["lus"][0](built).choose(0.0, File(1, 1.0))} == {1}
    drawn = Counter(chosen(RULES["pfrd"][0](built), 3000))
    assert [drawn[element] / 3000 for element in range(3)] == pytest.approx([1 / 6, 1 / 2, 1 / 3], abs=0.04)


def test_xrootd_takes_what_was_selected_least_of_the_little_loaded(world: Make) -> None:
    policy = RULES["xrootd"][0](world(4))
    policy.observe(5.0, sample([0.5, 0.1, 0.3, 0.0]))
    assert Counter(chosen(policy, 4)) == {1: 2, 3: 2}, "at most a fifth more than the least"
    drawn = RULES["xrootd-5.7"][0](world(4))
    drawn.observe(5.0, sample([0.5, 1.0, 0.75, 0.75]))
    counts = Counter(chosen(drawn, 3000))
    assert counts[0] / 3000 == pytest.approx(50 / 101, abs=0.04)
    assert counts[1] < 100


def test_managers_that_hear_all_at_once_keep_to_their_rules(world: Make) -> None:
    for name in ("mythtv", "jiq"):
        policy = RULES[name][0](world(4, free=[100, 200, 300, 400]))
        places = chosen(policy, 4)
        assert sorted(places) == [0, 1, 2, 3], "each has a file before any has two"
        policy.closed(7.0, File(9, 10.0), 1)
        assert chosen(policy, 1) == [1]
    assert chosen(RULES["mythtv"][0](world(4, free=[100, 200, 300, 400])), 4) == [3, 2, 1, 0]
    assert Counter(chosen(RULES["two-true"][0](world(2)), 10)) == {0: 5, 1: 5}
    counts: dict[str, Counter[int]] = {"hdfs": Counter(), "wass": Counter()}
    for name, counted in counts.items():
        policy = RULES[name][0](world(3, free=[1e12, 1e12, 3e12]))
        policy._open[:] = [9, 2, 1]  # type: ignore[attr-defined]
        for number in range(2000):
            element = policy.choose(0.0, File(number, 1.0))
            policy.closed(0.0, File(number, 1.0), element)
            counted[element] += 1
    assert counts["hdfs"][0] == 0, "more than twice as many as one has on average"
    assert counts["hdfs"][1] / 2000 == pytest.approx(0.5, abs=0.05)
    assert counts["wass"][1] / counts["wass"][2] == pytest.approx(2**-0.5 / 3, rel=0.25)


@pytest.mark.parametrize("name", [*RULES, *VARIANTS])
def test_every_rule_works_before_the_first_sample_and_for_many_nodes(name: str, world: Make) -> None:
    for nodes in (1, 3):
        policy = make(name, replace(world(4), nodes=nodes))
        places = [policy.choose(0.0, File(number, 1.0, node=number % nodes)) for number in range(30)]
        assert set(places) <= {0, 1, 2, 3}
