"""decide(): every filter with its reason, distance, order, and what is said about the data."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from ses_service.decision.selection import decide
from ses_service.ledger.exclusions import ExcludedOn
from ses_service.ledger.node_decisions import Considered, NodeDecision, Offered, explanation
from ses_service.ledger.placement import Basis
from ses_service.model.columns import element_table
from ses_service.model.entities import Element, ElementState, Subject
from ses_service.model.policies import Policies

Site = Any


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (ElementState.INACTIVE, "inactive"),
        (ElementState.READ_ONLY, "read-only"),
        (ElementState.DRAINING, "draining"),
        (ElementState.DEGRADED, "degraded"),
    ],
)
def test_an_element_in_a_bad_state_is_refused_with_that_reason(
    site: Site, state: ElementState, reason: str
) -> None:
    decision = site(site.element("good"), site.element("bad", state=state)).decide()
    assert site.order(decision) == ["good"]
    assert site.reasons(decision) == {"bad": reason}
    assert decision.refused[0].detail.endswith(".")


def test_degraded_elements_serve_when_nothing_else_is_left(site: Site) -> None:
    degraded = site.element("old", state=ElementState.DEGRADED)
    decision = site(degraded, site.element("off", state=ElementState.INACTIVE)).decide()
    assert site.order(decision) == ["old"]
    assert "Only degraded elements are left." in decision.notes


def test_degraded_elements_serve_when_good_ones_miss_a_hard_requirement(site: Site) -> None:
    elements = site.element("old", state=ElementState.DEGRADED), site.element("slow", write=10)
    decision = site(*elements).decide(site.write(50, hard=True))
    assert site.order(decision) == ["old"]
    assert site.reasons(decision) == {"slow": "hard-requirement"}


def test_an_element_seen_read_only_is_refused(site: Site) -> None:
    decision = site.equal(2).see_all().see("b1", read_only=True).decide()
    assert site.reasons(decision) == {"b1": "read-only"}
    assert "monitor" in decision.refused[0].detail


def test_an_element_seen_to_take_no_files_is_never_chosen(site: Site) -> None:
    decision = site.equal(2).see_all().see("b1", no_create=True).decide()
    assert site.reasons(decision) == {"b1": "read-only"}
    assert decision.refused[0].detail == "The monitor sees that an administrator stopped creates there."
    alone = site(site.element("b1")).see("b1", no_create=True).decide()
    assert site.order(alone) == []


def test_an_element_seen_degraded_serves_only_when_nothing_else_is_left(site: Site) -> None:
    decision = site.equal(2).see_all().see("b1", degraded=True).decide()
    assert site.reasons(decision) == {"b1": "degraded"}
    assert decision.notes == ()
    alone = site(site.element("b1")).see("b1", degraded=True).decide()
    assert site.order(alone) == ["b1"]
    assert "Only degraded elements are left." in alone.notes


def test_a_capability_the_monitor_knows_serves_where_the_site_describes_none(site: Site) -> None:
    unknown = site.element("a", write=None), site.element("b", write=None), site.element("c", write=60)
    decision = (
        site(*unknown)
        .see("a", write_capability=50e6)
        .see("b", write_capability=200e6)
        .see("c", write_capability=900e6)
        .decide(site.write(1000))
    )
    assert site.order(decision) == ["b", "c", "a"]
    assert [candidate.available_write for candidate in decision.candidates] == [200e6, 60e6, 50e6]


def test_only_the_storage_system_asked_for_is_considered(site: Site) -> None:
    decision = site(site.element("a/x"), site.element("b/y")).decide(storage_system="b")
    assert site.order(decision) == ["y"]
    assert site.reasons(decision) == {"x": "wrong-system"}
    assert "a" in decision.refused[0].detail


def test_a_node_reaches_only_what_it_mounts(site: Site) -> None:
    both = site(
        site.element("a/x"), site.element("b/y"), node_access={"n1": frozenset({"a"}), "n2": frozenset()}
    )
    assert site.reasons(both.decide(subject=Subject("alice", node="n1"))) == {"y": "unreachable"}
    assert site.order(both.decide(subject=Subject("alice", node="n2"))) == []
    assert len(both.decide(subject=Subject("alice", node="unlisted")).candidates) == 2


def test_excluded_elements_are_refused_and_unknown_ones_noted(site: Site) -> None:
    decision = site.equal(2).decide(exclude=frozenset({"union/b0", "union/gone"}))
    assert site.reasons(decision) == {"b0": "excluded"}
    assert any("union/gone" in note for note in decision.notes)


@pytest.mark.parametrize(
    ("node", "everywhere", "left_out"),
    [(None, True, True), (None, False, False), ("n1", False, True), ("n2", False, False), ("n2", True, True)],
)
def test_what_a_node_excludes_is_refused_where_that_holds_and_noted_elsewhere(
    site: Site, node: str | None, everywhere: bool, left_out: bool
) -> None:
    there = site.equal(2)
    view = there.view
    view.excluded = {"union/b0": ExcludedOn({"n1": "its mode is NC"}, everywhere)}
    question = site.question(subject=Subject("alice", node=node))
    decision = decide(question, view, 1_000_000.0, there.policies)
    said = [(refusal.reason.value, refusal.detail) for refusal in decision.refused]
    assert said == ([("excluded", "It is excluded on n1: its mode is NC.")] if left_out else [])
    noted = "union/b0 is excluded on n1: its mode is NC." in decision.notes
    assert noted == (node is None and not everywhere)


def test_an_element_without_room_for_the_file_is_refused(site: Site) -> None:
    decision = site.equal(2).see("b0", free=1).see("b1", free=3).decide(expected_bytes=2 * site.GB)
    assert site.reasons(decision) == {"b0": "no-space"}
    assert decision.refused[0].detail == "1 GB are free; 2 GB are needed."


def test_large_sizes_are_written_in_full(site: Site) -> None:
    decision = site.equal(1).see("b0", free=1).decide(expected_bytes=12_345 * site.GB)
    assert decision.refused[0].detail == "1 GB are free; 12345 GB are needed."


def test_reservations_of_the_ledger_take_room(site: Site) -> None:
    full = site.equal(2).see("b0", free=3).see("b1", free=3).carry("b0", size=2 * site.GB)
    decision = full.decide(expected_bytes=2 * site.GB)
    assert site.reasons(decision) == {"b0": "no-space"}
    assert "after 2 GB held for open placements" in decision.refused[0].detail
    assert decision.candidates[0].free == 3 * site.GB


def test_a_full_element_is_refused_although_nobody_announced_a_size(site: Site) -> None:
    assert site.reasons(site.equal(2).see_all().see("b0", free=0).decide()) == {"b0": "no-space"}


def test_a_hard_requirement_refuses_and_a_soft_one_only_ranks_behind(site: Site) -> None:
    two = site(site.element("fast", write=100), site.element("slow", write=10)).see_all()
    hard = two.decide(site.write(50, hard=True))
    assert site.reasons(hard) == {"slow": "hard-requirement"}
    assert hard.refused[0].detail == (
        "Its predicted current-write-rate is 10 MB/s; the hard minimum is 50 MB/s."
    )
    assert site.order(two.decide(site.write(50))) == ["fast", "slow"]


def test_the_link_of_a_server_limits_what_its_elements_are_predicted_to_give(site: Site) -> None:
    linked = [site.element(name, server="s1", server_rate=120 * site.MB) for name in ("a", "b")]
    there = site(*linked, site.element("c", server="s2", write=90)).see_all().carry("a", 3)
    decision = there.decide()
    assert [candidate.element.id for candidate in decision.candidates] == ["union/c", "union/b", "union/a"]
    assert [candidate.available_write for candidate in decision.candidates] == [
        90 * site.MB,
        30 * site.MB,
        25 * site.MB,
    ]
    assert decision.notes == (
        "The link of s1 (120 MB/s for all) leaves a stream 30 MB/s: less than union/b would give.",
    )
    (a, b) = there.decide(site.write(80, hard=True)).refused
    assert a.detail == "Its predicted current-write-rate is 25 MB/s; the hard minimum is 80 MB/s."
    assert b.detail == (
        "Its predicted current-write-rate is 30 MB/s; the hard minimum is 80 MB/s. The link of s1 (120 MB/s "
        "for all) leaves a stream 30 MB/s: less than union/b would give."
    )


def test_a_hard_requirement_refuses_what_is_not_known_to_meet_it(site: Site) -> None:
    decision = site(site.element("mystery", write=None)).see_all().decide(site.write(1, hard=True))
    assert site.reasons(decision) == {"mystery": "hard-requirement"}
    assert "unknown" in decision.refused[0].detail


def test_nothing_left_says_why_for_each(site: Site) -> None:
    decision = site.equal(3).decide(exclude=frozenset({"union/b0", "union/b1", "union/b2"}))
    assert decision.candidates == ()
    assert set(site.reasons(decision)) == {"b0", "b1", "b2"}


def test_no_elements_at_all_is_an_empty_answer(site: Site) -> None:
    assert site().decide(site.write(5)).candidates == ()


def test_distance_is_the_weighted_root_mean_square_of_shortfalls(site: Site) -> None:
    there = site(site.element("x", read=50, write=100)).see("x", free=1)
    decision = there.decide(site.read(100), site.write(50), site.free(4, weight=3))
    expected = ((1 * 0.5**2 + 1 * 0 + 3 * 0.75**2) / 5) ** 0.5
    assert decision.candidates[0].distance == pytest.approx(expected)
    shortfalls = [prediction.shortfall for prediction in decision.candidates[0].predicted]
    assert shortfalls == pytest.approx([0.5, 0, 0.75])


def test_without_a_requirement_distance_is_zero_and_the_write_share_decides(site: Site) -> None:
    two = site(site.element("reader", read=200, write=50), site.element("writer", read=50, write=100))
    decision = two.see_all().decide()
    assert [candidate.distance for candidate in decision.candidates] == [0, 0]
    assert site.order(decision) == ["writer", "reader"]


def test_free_capacity_alone_leaves_the_order_to_the_write_share(site: Site) -> None:
    two = site(site.element("reader", read=200, write=50), site.element("writer", read=50, write=100))
    assert site.order(two.see_all().decide(site.free(1))) == ["writer", "reader"]


def test_meeting_the_need_comes_before_a_larger_share(site: Site) -> None:
    roomy = site.element("roomy", write=100)
    fast = site.element("fast", write=500)
    two = site(roomy, fast).see("roomy", free=100).see("fast", free=2)
    assert site.order(two.decide(site.write(50), site.free(50))) == ["roomy", "fast"]


def test_a_busy_element_is_never_preferred_for_its_observed_throughput(site: Site) -> None:
    both = site.equal(2).see("b0", write=95, average_write=95).see("b1", write=1, average_write=1)
    assert site.order(both.decide()) == ["b1", "b0"]
    assert site.order(both.decide(site.write(60))) == ["b1", "b0"]
    assert site.order(both.decide(site.write(60, average=True))) == ["b1", "b0"]


def test_average_kinds_use_the_long_window_but_promise_no_more_than_there_is_now(site: Site) -> None:
    both = site.equal(2).see("b0", write=0, average_write=90).see("b1", write=0, average_write=0)
    assert site.order(both.decide(site.write(80, average=True))) == ["b1", "b0"]
    busy = site.equal(2).see("b0", write=0, average_write=30).see("b1", write=99, average_write=0)
    assert site.order(busy.decide(site.write(60, average=True))) == ["b0", "b1"]


def test_an_unknown_average_is_taken_to_equal_the_current_rate(site: Site) -> None:
    both = site.equal(2).see("b0", write=90).see("b1", write=10)
    assert site.order(both.decide(site.write(80, average=True))) == ["b1", "b0"]


def test_an_unknown_nominal_rate_ranks_behind_and_says_unknown(site: Site) -> None:
    two = site(site.element("mystery", write=None), site.element("slow", write=1)).see_all()
    for decision in (two.decide(), two.decide(site.write(500))):
        assert site.order(decision) == ["slow", "mystery"]
    assert decision.candidates[1].predicted[0].value is None
    assert decision.candidates[1].predicted[0].shortfall == 1


def test_a_nominal_rate_of_zero_counts_as_unknown(site: Site) -> None:
    decision = site(site.element("zero", write=0), site.element("slow", write=1)).see_all().decide()
    assert site.order(decision) == ["slow", "zero"]
    assert decision.candidates[1].available_write is None


@pytest.mark.parametrize(
    "load",
    [
        {"write": 85},
        {"read": 85},
        {"write": 85, "queue_depth": 4.0},
        {"read": None, "write": None, "queue_depth": 4.0},
    ],
)
def test_without_nominal_rates_load_orders_elements_and_is_what_is_said(
    site: Site, load: dict[str, Any]
) -> None:
    there = site.equal(3, read=None, write=None).see("b0", **load).see("b1", write=0.5).see("b2")
    decision = there.decide()
    assert site.order(decision)[-1] == "b0"
    assert decision.notes == ()
    assert all(candidate.basis is Basis.MONITOR for candidate in decision.candidates)
    assert Counter(there.place(5))["b0"] <= 1


def test_without_nominal_rates_streams_of_ours_order_elements(site: Site) -> None:
    assert Counter(site.equal(3, read=None, write=None).see_all().place(30)) == {"b0": 10, "b1": 10, "b2": 10}


def test_a_sample_that_tells_no_load_is_not_said_to_be_old(site: Site) -> None:
    there = site.equal(3).see("b0").see("b1", read=None, write=None, detail="blind").see("b2", age=1000)
    assert there.decide().notes == tuple(
        f"1 of 3 candidates have {what}: judged by static facts and the ledger."
        for what in (
            "no sample that is young enough",
            "a sample with neither a rate nor a queue (union/b1: blind)",
        )
    )


@pytest.mark.parametrize("both_seen", [True, False])
def test_elements_on_one_device_share_load_and_room_and_not_their_modes(site: Site, both_seen: bool) -> None:
    disk, other = ({"file_system": f"ext4 {number}", "server_rate": 1e9} for number in (1, 2))
    there = site(
        site.element("cache/a", **disk), site.element("slow/a", **disk), site.element("slow/b", **other)
    )
    load = {"write": 50, "average_write": 50, "free": 30}
    there.see("cache/a", **load, no_create=True).see("slow/b", **load)
    if both_seen:
        there.see("slow/a", **load)
    a, b = sorted(there.decide(storage_system="slow").candidates, key=lambda candidate: candidate.element.id)
    assert (a.available_write, a.free) == (b.available_write, b.free)
    refused = {
        refusal.element: refusal.reason.value for refusal in there.decide(storage_system="cache").refused
    }
    assert refused["cache/a"] == "read-only"
    # What is placed by one union takes rate and room of the disk from the other.
    there.carry("cache/a", 3, at=there.NOW, size=6 * there.GB)
    a, b = sorted(there.decide(storage_system="slow").candidates, key=lambda candidate: candidate.element.id)
    assert a.available_write < b.available_write
    assert (a.free, b.free) == (12 * there.GB, 30 * there.GB)
    rows = there.view.rows.elements
    assert rows["own"].tolist() == [3, 3, 0]
    assert rows["server_streams"][0] == 3 + rows["foreign"][0] + rows["foreign"][2]
    # Another server's disk of the same name is another.
    twins = site(site.element("u/a", **disk), site.element("u/b", **disk, server="n2"))
    assert not twins.view.table.shared


def test_who_names_no_system_asks_where_files_are_placed(site: Site) -> None:
    def described(*elements: Element) -> Site:
        there = site(*elements)
        a_set = replace(there.environment.systems["set"], backend="directories", mount_point="")
        systems = {**there.environment.systems, "set": a_set}
        there.environment = replace(there.environment, systems=systems)
        return there

    there = described(site.element("union/a"), site.element("set/b"))
    assert site.order(there.decide()) == ["a"]
    assert site.reasons(there.decide()) == {"b": "wrong-system"}
    assert site.order(there.decide(storage_system="set")) == ["b"]
    alone = described(site.element("set/b"))
    assert site.order(alone.decide()) == ["b"], "where a site has nothing else"


def test_file_systems_on_one_device_share_load_and_not_room(site: Site) -> None:
    def on(number: int, device: str) -> dict[str, object]:
        return {"file_system": f"nfs4 filer:/{number}", "server": "filer", "device": device}

    there = site(
        site.element("set/a", **on(1, "nfs")), site.element("set/b", **on(2, "nfs")),
        site.element("set/c", **on(3, "other")),
    )  # fmt: skip
    for name in "abc":
        there.see(f"set/{name}", write=50, average_write=50, free=30)
    there.carry("set/a", 3, at=there.NOW, size=6 * there.GB)
    a, b, c = sorted(there.decide().candidates, key=lambda candidate: candidate.element.id)
    assert a.available_write == b.available_write < c.available_write
    assert [candidate.free / there.GB for candidate in (a, b, c)] == [12, 30, 30]
    assert there.view.rows.elements["own"].tolist() == [3, 3, 0]
    # One that the monitor does not watch has the load of its own file system only.
    unseen = site(site.element("set/a", **on(1, "nfs")), site.element("set/b", **on(2, "nfs")))
    unseen.see("set/a", free=30)
    assert [
        candidate.free for candidate in unseen.decide().candidates if candidate.element.id == "set/b"
    ] == [1000 * site.GB]


def test_old_data_leave_static_facts_and_the_ledger(site: Site) -> None:
    old = site.equal(3).see_all(age=11, write=90).carry("b0", 3).carry("b1")
    decision = old.decide()
    assert site.order(decision) == ["b2", "b1", "b0"]
    assert [candidate.available_write / site.MB for candidate in decision.candidates] == [100, 50, 25]
    assert [candidate.basis for candidate in decision.candidates] == [
        Basis.STATIC,
        Basis.LEDGER,
        Basis.LEDGER,
    ]
    assert [candidate.age for candidate in decision.candidates] == [11, 11, 11]
    assert any("3 of 3" in note for note in decision.notes)


def test_data_just_within_the_limit_still_count(site: Site) -> None:
    decision = site.equal(1).see_all(age=10, write=40).decide()
    assert decision.candidates[0].basis is Basis.MONITOR
    assert decision.candidates[0].available_write == pytest.approx(100 / 1.4 * site.MB)


def test_an_element_whose_exporter_died_never_looks_idle_beside_seen_ones(site: Site) -> None:
    mixed = site.equal(2).see("b0", age=60, write=0).see("b1", write=40)
    assert site.order(mixed.decide()) == ["b1", "b0"]
    never = site.equal(2).see("b1", write=40)
    assert site.order(never.decide()) == ["b1", "b0"]
    assert never.decide().candidates[1].basis is Basis.STATIC


def test_a_fresh_sample_without_rates_does_not_look_idle(site: Site) -> None:
    assert site.order(site.equal(2).see("b0", write=None, read=None).see("b1", write=40).decide()) == [
        "b1",
        "b0",
    ]


def test_free_capacity_is_last_seen_or_else_the_whole_capacity(site: Site) -> None:
    decision = site.equal(2).see("b0", free=7, age=100).decide(site.free(1))
    free = {candidate.element.label: candidate.free for candidate in decision.candidates}
    assert free == {"b0": 7 * site.GB, "b1": 1000 * site.GB}


def test_a_hundred_placements_over_equal_elements_spread_evenly(site: Site) -> None:
    even = site.equal(10).see_all()
    one_by_one = Counter(even.place(1)[0] for _ in range(100))
    assert set(one_by_one.values()) == {10}


def test_a_placement_counts_until_a_whole_window_of_rates_has_seen_it(site: Site) -> None:
    even = site.equal(2).see_all(age=0.5)
    (first,) = even.place(1, now=site.NOW - 1)
    even.see_all(age=0)
    assert site.order(even.decide())[0] != first


def test_a_small_need_is_met_outside_the_scarce_tier(site: Site) -> None:
    elements = site.element("flash", write=900, tier="nvme"), site.element("disk", write=100, tier="hdd")
    two = site(*elements, policies=Policies(scarce_tiers=frozenset({"nvme"}))).see_all()
    assert site.order(two.decide(site.write(20))) == ["disk", "flash"]
    assert site.order(two.decide(site.write(500))) == ["flash", "disk"]
    assert site.order(two.decide()) == ["flash", "disk"]


def test_the_limit_bounds_ranks_and_refusals_and_says_so(site: Site) -> None:
    many = site(*(site.element(f"b{n}", state=ElementState.INACTIVE) for n in range(60)), site.element("ok"))
    bounded = many.decide(limit=1)
    assert len(bounded.candidates) == 1
    assert (len(bounded.refused), bounded.refused_total) == (50, 60)
    assert any("10 more" in note for note in bounded.notes)
    assert len(many.decide(limit=0).refused) == 60


def test_a_minimum_of_zero_is_always_met(site: Site) -> None:
    decision = site(site.element("x", write=None)).see_all().decide(site.write(0))
    assert decision.candidates[0].distance == 0


def test_what_a_node_tells_of_a_link_is_a_note_of_its_decision(site: Site) -> None:
    there = site(
        *(site.element(name, server="s1", server_rate=120 * site.MB) for name in ("a", "b")),
        site.element("c"),
    )
    node_decision = NodeDecision(
        decided_at=0.0, age=None, offline=False, requirements=(), expected_bytes=None, expected_from=None,
        candidates=(
            Considered("union/a", 0.0, Offered(write=40e6), 2.0, 0.1, 40e6),
            Considered("union/b", 0.0, Offered(write=40e6), 2.0, 0.1, 40e6),
            Considered("union/c", 0.0, Offered(write=100e6), 0.0, 0.1),
        ),
        refused=(), refused_total=0,
    )  # fmt: skip
    assert explanation(node_decision, "n1", element_table(there.environment)).notes == (
        "The link of s1 (120 MB/s for all) leaves a stream 40 MB/s: less than 2 elements of it would give.",
    )
