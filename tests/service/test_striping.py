"""Over how many elements a file is spread, and over which."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ses_service.policies import Policies
from ses_service.selection import deal
from ses_service.striping import Cause, Stripes, needed, stripe_count

Site = Any
MIB, GB = 2.0**20, 1e9

facts = st.fixed_dictionaries(
    {
        "need": st.none() | st.integers(1, 40),
        "size": st.none() | st.floats(0, 1e13),
        "idle": st.integers(0, 50),
        "files": st.integers(1, 100),
        "elements": st.integers(1, 50),
        "hint": st.none(),
    }
)


@given(st.lists(st.floats(0, 1e9), max_size=20), st.floats(0, 1e10))
def test_the_shares_needed_are_the_fewest_that_reach_the_rate(shares: list[float], minimum: float) -> None:
    count = needed(shares, minimum)
    assert sum(shares[: count - 1]) < minimum or count == 1
    assert sum(shares[:count]) >= minimum or count == len(shares) + 1


@given(facts, st.integers(1, 20))
def test_no_cap_is_ever_exceeded(given_facts: dict[str, Any], most: int) -> None:
    policies = Policies(max_stripes=most)
    found = stripe_count(**given_facts, policies=policies)
    assert 1 <= found.count <= min(most, given_facts["elements"])
    assert found.count == 1 or found.count * given_facts["files"] <= given_facts["idle"] / 2
    if given_facts["size"] is not None:
        assert found.count == 1 or given_facts["size"] / found.count >= 256 * MIB
    if given_facts["need"] is not None:
        assert found.count <= given_facts["need"]
        assert (found.cause is Cause.RATE) == (found.count == given_facts["need"])


@given(facts, st.integers(1, 100))
def test_a_hint_of_the_program_stands_unless_the_site_overrules_it(
    given_facts: dict[str, Any], hint: int
) -> None:
    hinted = {**given_facts, "hint": hint}
    assert stripe_count(**hinted, policies=Policies()).count == min(hint, given_facts["elements"])
    overruled = Policies(overrule_stripe_hints=True)
    assert stripe_count(**hinted, policies=overruled) == stripe_count(**given_facts, policies=overruled)


def test_without_a_rate_or_a_size_there_is_one_stripe() -> None:
    nothing = {"need": None, "size": None, "idle": 50, "files": 1, "elements": 50, "hint": None}
    assert stripe_count(**nothing, policies=Policies()) == Stripes(1, Cause.NOTHING)


def lustre(site: Site, servers: int, targets: int, **options: Any) -> Any:
    made = [
        site.element(
            f"fs/ost{server}-{target}",
            target=f"{server * targets + target}",
            server=f"oss{server}",
            write=500,
        )
        for server in range(servers)
        for target in range(targets)
    ]
    whole = site(*made, **options)
    systems = {name: replace(one, backend="lustre") for name, one in whole.environment.systems.items()}
    whole.environment = replace(whole.environment, systems=systems)
    return whole.see_all()


def choices(whole: Any, count: int, *wanted: Any, **asked: Any) -> list[Any]:
    taken: list[Any] = []

    def book(chosen: Any, *_: object) -> None:
        taken.append(chosen)
        size = asked.get("expected_bytes")
        for one in chosen.stripes:
            part = None if size is None else size / len(chosen.stripes)
            whole.ledger.book(whole.placement(one, size=part))

    deal(whole.question(*wanted, **asked), whole.view, whole.NOW, whole.policies, count, book)
    return taken


def test_a_rate_beyond_one_element_takes_as_many_as_add_up_to_it(site: Site) -> None:
    (one,) = choices(lustre(site, 4, 4), 1, site.write(1400))
    assert len(one.stripes) == 3
    assert (one.distance, one.predicted[0].value) == (0, 1500e6)
    assert one.stripes[0] is one.element
    assert "3 elements: the smallest number whose shares add up to the rate" in one.notes[0]


def test_stripes_lie_on_different_servers_while_there_are_any(site: Site) -> None:
    (spread,) = choices(lustre(site, 4, 8), 1, site.write(2000))
    assert Counter(one.server for one in spread.stripes) == {f"oss{server}": 1 for server in range(4)}
    (wide,) = choices(lustre(site, 4, 8), 1, site.write(4000))
    assert Counter(one.server for one in wide.stripes) == {f"oss{server}": 2 for server in range(4)}
    assert len(set(wide.stripes)) == 8


@pytest.mark.parametrize(
    ("asked", "count", "why"),
    [
        ({"expected_bytes": 300 * MIB}, 1, "256 MiB"),
        ({"expected_bytes": 800 * MIB}, 3, "256 MiB"),
        ({"expected_bytes": 100 * GB}, 8, "the site allows no more"),
        ({"stripe_count": 2}, 2, "the program asks for it"),
        ({"stripe_count": 90}, 32, "no more elements"),
    ],
)
def test_the_cap_that_decided_is_told(site: Site, asked: dict[str, Any], count: int, why: str) -> None:
    (one,) = choices(lustre(site, 4, 8), 1, site.write(1e5), **asked)
    assert len(one.stripes) == count
    assert why in one.notes[0]


def test_half_of_the_idle_elements_are_left_to_others(site: Site) -> None:
    whole = lustre(site, 4, 2)
    for element in whole.environment.elements[:4]:
        whole.see(element.id, write=450)
    (one,) = choices(whole, 1, site.write(1e5))
    assert len(one.stripes) == 2
    assert "half of the idle elements" in one.notes[0]


def test_a_large_file_without_a_rate_is_spread_and_a_small_one_is_not(site: Site) -> None:
    (large,) = choices(lustre(site, 4, 4), 1, expected_bytes=50 * GB)
    (small,) = choices(lustre(site, 4, 4), 1, expected_bytes=1 * MIB)
    (unknown,) = choices(lustre(site, 4, 4), 1)
    assert [len(one.stripes) for one in (large, small, unknown)] == [8, 1, 1]
    assert unknown.notes == ()


def test_a_batch_of_striped_files_is_dealt_as_if_asked_for_one_by_one(site: Site) -> None:
    together = choices(lustre(site, 3, 3), 6, stripe_count=4, expected_bytes=GB)
    alone = lustre(site, 3, 3)
    one_by_one = [choices(alone, 1, stripe_count=4, expected_bytes=GB)[0] for _ in range(6)]
    assert [one.stripes for one in together] == [one.stripes for one in one_by_one]
    carried = Counter(element.id for one in together for element in one.stripes)
    assert max(carried.values()) - min(carried.values()) <= 1


def test_a_storm_of_large_files_gets_one_stripe_each(site: Site) -> None:
    assert {len(one.stripes) for one in choices(lustre(site, 4, 4), 16, expected_bytes=50 * GB)} == {1}


def test_only_back_ends_that_can_stripe_do(site: Site) -> None:
    for chosen in choices(site.equal(16).see_all(), 2, site.write(1000), stripe_count=4):
        assert chosen.stripes == (chosen.element,)
    pools = lustre(site, 4, 4)
    environment = pools.environment
    pools.environment = replace(
        environment, elements=tuple(replace(one, target="flash") for one in environment.elements)
    )
    (one,) = choices(pools.see_all(), 1, site.write(1000))
    assert one.stripes == (one.element,)


def test_files_are_striped_within_one_storage_system(site: Site) -> None:
    whole = lustre(site, 2, 2)
    other = [site.element(f"scratch/ost{n}", target=f"{n}", server=f"s{n}", write=400) for n in range(8)]
    environment = whole.environment
    scratch = replace(environment.systems["fs"], name="scratch")
    whole.environment = replace(
        environment,
        elements=(*environment.elements, *other),
        systems={**environment.systems, "scratch": scratch},
    )
    (one,) = choices(whole.see_all(), 1, stripe_count=6)
    assert {element.storage_system for element in one.stripes} == {"fs"}
    assert len(one.stripes) == 4


def test_a_grant_names_every_element_and_the_record_says_why(
    make_service: Any, site: Site, clock: Any
) -> None:
    service = make_service(lustre(site, 4, 2).environment, clock).refresh()
    need = [{"kind": "current-write-rate", "minimum": 900, "unit": "MB/s"}]
    body = service.post("/v1/placements", {"subject": {"user": "a"}, "requirements": need}).get_json()
    (granted,) = body["placements"]
    assert (granted["stripe_count"], granted["stripe_size_bytes"]) == (2, None)
    assert granted["elements"][0]["element"] == granted["element"]
    assert len({one["target"] for one in granted["elements"]}) == 2
    assert body["selection"]["stripe_count"] == 2
    record = service.get(f"/v1/placements/{granted['placement_id']}").get_json()
    assert record["elements"] == granted["elements"]
    assert record["notes"] == [note for note in body["selection"]["notes"] if "spread over 2" in note]
