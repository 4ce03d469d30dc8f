"""The rows the decision core reads: what they say of an element, and which of them changed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import ses_core
from ses_core import Query, State
from ses_service.decision.rows import Rows, stated_kinds
from ses_service.model.columns import element_table, observation_table
from ses_service.model.entities import ElementState, Level, ResolvedRequirement
from ses_service.model.policies import Policies

MB, GB, NOW = 1e6, 1e9, 1_000_000.0


class Watched:
    """The rows of a site of the tests, and the ledger behind them."""

    def __init__(self, site: Any, policies: Policies | None = None) -> None:
        self.site = site
        self.table = element_table(site.environment)
        self.ledger = site.ledger
        self.rows = Rows(policies or site.policies)
        self.rows.bind(self.table, (), self.seen(), self.ledger.counts, NOW)
        self.follow()

    def seen(self) -> Any:
        return observation_table(self.table, self.site.observed.values())

    def observe(self, now: float = NOW) -> None:
        seen = self.seen()
        self.ledger.observe(seen.sampled_at, now)
        self.rows.observe(seen, self.ledger.counts, now)

    def follow(self) -> int:
        """Take what changed; return the version before."""
        before = self.rows.version
        self.rows.follow(self.ledger.counts, self.ledger.counter.take_changed())
        return before

    def changed(self, since: int) -> list[int]:
        return list(np.flatnonzero(self.rows.changed > since))

    def __getitem__(self, name: str) -> list[float]:
        values: list[float] = self.rows.elements[name].tolist()
        return values


def test_streams_on_a_server_count_where_the_site_states_its_link(site: Any) -> None:
    there = site(
        *(site.element(name, server="s1", server_rate=1 * GB) for name in ("a", "b")),
        *(site.element(name, server="s2") for name in ("c", "d")),
    ).see_all()
    there.see("a", write=100).carry("b", 2).carry("c", 3)
    watched = Watched(there)
    assert watched["server_rate"][:2] == [GB, GB]
    assert np.isnan(watched["server_rate"][2:]).all()
    streams = sum(watched["own"][:2]) + sum(watched["foreign"][:2])
    assert streams > 2
    assert watched["server_streams"] == [pytest.approx(streams)] * 2 + [0, 0]


def test_a_file_changes_all_elements_of_its_server_and_no_others(site: Any) -> None:
    there = site(
        *(site.element(name, server="s1", server_rate=1 * GB) for name in ("a", "b")),
        *(site.element(name, server="s2", server_rate=1 * GB) for name in ("c", "d")),
        *(site.element(name, server="s3") for name in ("e", "f")),
    ).see_all()
    watched = Watched(there)
    there.ledger.restore(there.placement(watched.table.elements[0]))
    assert watched.changed(watched.follow()) == [0, 1]
    assert watched["server_streams"] == [1, 1, 0, 0, 0, 0]
    there.ledger.restore(there.placement(watched.table.elements[4]))
    assert watched.changed(watched.follow()) == [4]


def test_what_grows_old_counts_on_its_server_as_what_is_not_seen(site: Any) -> None:
    there = site(*(site.element(name, server="s1", server_rate=1 * GB) for name in ("a", "b")))
    watched = Watched(there.see("a").see("b", age=-1000))
    assert watched["server_streams"] == [0, 0]
    watched.rows.grow_old(NOW + 100)
    assert watched["foreign"] == [1, 0]
    assert watched["server_streams"] == [1, 1]


def test_facts_are_those_of_the_description(site: Any) -> None:
    watched = Watched(
        site(site.element("fast", read=200, write=150), site.element("dark", read=None, write=None))
    )
    assert watched["read_rate"][0] == 200 * MB
    assert watched["write_rate"][0] == 150 * MB
    assert np.isnan(watched["read_rate"][1])
    assert watched["size"] == [1000 * GB, 1000 * GB]


def test_a_state_that_is_over_ends_by_itself_and_is_reported(site: Any) -> None:
    drained = {"state": ElementState.DRAINING, "state_until": NOW + 1}
    watched = Watched(site(site.element("b0", **drained), site.element("b1")).see_all())
    assert watched["state"][0] & State.DRAINING
    version = watched.follow()
    watched.rows.grow_old(NOW + 0.5)
    assert watched.changed(version) == []
    watched.rows.grow_old(NOW + 1)
    assert watched.changed(version) == [0]
    assert not watched["state"][0] & State.DRAINING


def test_a_state_that_was_over_before_the_site_was_read_does_not_count(site: Any) -> None:
    element = site.element("b0", state=ElementState.DRAINING, state_until=NOW)
    assert not Watched(site(element))["state"][0] & State.DRAINING
    assert (element.state_at(NOW - 1), element.state_at(NOW)) == (ElementState.DRAINING, ElementState.ACTIVE)


def test_what_the_ledger_holds_shows_row_by_row(site: Any) -> None:
    watched = Watched(site.equal(3).see_all())
    version = watched.follow()
    placement = watched.site.placement(watched.table.elements[1], at=NOW, size=2 * GB)
    watched.ledger.restore(placement)
    watched.follow()
    assert watched.changed(version) == [1]
    assert (watched["own"], watched["reserved"]) == ([0, 1, 0], [0, 2 * GB, 0])
    assert watched["last_placed"][1] > watched["last_placed"][0]


def test_a_stream_that_ended_counts_no_more(site: Any) -> None:
    watched = Watched(site.equal(2).see_all(age=0.5).carry("b0", at=NOW - 60))
    assert watched["own"] == [1, 0]
    placement = next(iter(watched.ledger.records()))
    watched.ledger.end(placement.placement_id, "closed", NOW)
    watched.follow()
    assert watched["own"] == [0, 0]


def test_a_queue_beyond_our_own_files_is_of_others(site: Any) -> None:
    watched = Watched(site.equal(2).see("b0", write=100, queue_depth=3.0).see("b1").carry("b0", at=NOW - 60))
    watched.observe()
    assert watched["foreign"] == [2.0, 0.0]
    assert watched["busy"] == [1.0, 0.0]


def test_an_element_nobody_sees_does_not_look_idle_beside_others(site: Any) -> None:
    watched = Watched(site.equal(2).see("b0"))
    assert np.isnan(watched["busy"][1])
    assert watched["foreign"] == [0.0, watched.site.policies.unseen_streams]


@pytest.mark.parametrize(
    ("interval", "age", "counts"), [(None, 9, True), (1, 11, False), (15, 80, True), (15, 95, False)]
)
def test_a_sample_counts_for_six_intervals_of_its_own_and_ten_seconds_at_least(
    site: Any, interval: float | None, age: float, counts: bool
) -> None:
    watched = Watched(site.equal(1).see("b0", age=age, interval=interval))
    assert np.isnan(watched["busy"][0]) != counts


def test_a_sample_that_grows_too_old_is_not_believed_any_more_and_is_reported(site: Any) -> None:
    watched = Watched(site.equal(2).see("b0", write=50, age=0).see("b1", age=-8))
    version = watched.rows.version
    watched.rows.grow_old(NOW + 9)
    assert watched.changed(version) == []
    watched.rows.grow_old(NOW + 11)
    assert watched.changed(version) == [0]
    assert np.isnan(watched["busy"][0])
    assert watched["foreign"] == [watched.site.policies.unseen_streams, 0.0]


def test_only_rows_with_a_later_sample_or_other_loads_change(site: Any) -> None:
    watched = Watched(site.equal(3).see_all(age=1))
    version = watched.rows.version
    watched.observe()
    assert watched.changed(version) == []
    watched.site.see("b2", age=0.5)
    watched.observe()
    assert watched.changed(version) == [2]


def test_states_are_those_of_site_and_monitor_together(site: Any) -> None:
    elements = [
        site.element("plain"),
        site.element("gone", state=ElementState.INACTIVE),
        site.element("full", state=ElementState.DRAINING),
        site.element("nvme", tier="nvme"),
        site.element("shut"),
    ]
    made = site(*elements).see_all().see("shut", no_create=True, degraded=True)
    watched = Watched(made, Policies(scarce_tiers=frozenset({"nvme"})))
    assert watched["state"] == [
        0,
        State.INACTIVE,
        State.DRAINING,
        State.SCARCE,
        State.READ_ONLY | State.DEGRADED,
    ]


def test_a_capability_that_hardly_moves_is_no_other_fact(site: Any) -> None:
    watched = Watched(site(site.element("b0", read=None, write=None)).see("b0", write_capability=100 * MB))
    facts = watched.rows.revisions.tolist()
    for seen, sent in ((105 * MB, 100 * MB), (120 * MB, 120 * MB)):
        watched.site.see("b0", write_capability=seen)
        watched.observe()
        assert watched["write_rate"] == [sent]
        assert (watched.rows.revisions.tolist() == facts) == (sent == 100 * MB)


def test_elements_are_kept_for_the_largest_rate_that_one_of_their_storage_system_gives(site: Any) -> None:
    elements = site.element("a", write=None), site.element("b", write=30), site.element("other/c", write=500)
    watched = Watched(site(*elements).see("a", write_capability=90 * MB))
    assert watched["kept_for"] == [0, 0, 0]
    rates = [20 * MB, 70 * MB + 1, 400 * MB, 900 * MB]
    facts, version = watched.rows.revisions.tolist(), watched.rows.version
    watched.rows.require(rates)
    assert watched["kept_for"] == [70 * MB, 70 * MB, 400 * MB]  # not more than a file asks for
    assert all(after > before for after, before in zip(watched.rows.revisions, facts, strict=True))
    assert watched.changed(version) == [0, 1, 2]
    facts, version = watched.rows.revisions.tolist(), watched.rows.version
    watched.rows.require(reversed(rates))
    assert (watched.rows.revisions.tolist(), watched.rows.version) == (facts, version)
    watched.site.see("a", write_capability=60 * MB)
    watched.observe()
    assert watched["kept_for"] == [20 * MB, 20 * MB, 400 * MB]


def test_kinds_that_are_required_have_room_before_others(site: Any) -> None:
    stated = tuple((f"kind-{number}", float(number)) for number in range(6))
    table = element_table(site(replace(site.element("b0"), stated=stated)).environment)
    assert stated_kinds(table, {"kind-5"}) == ("kind-5", "kind-0", "kind-1", "kind-2")


def test_an_average_rate_counts_a_long_file_of_ours_once(site: Any) -> None:
    """100 MB/s with a file of ours for minutes leave more than 60 MB/s of which others take 80 %."""
    both = site(site.element("a", write=100.0), site.element("b", write=60.0))
    both.see("a", write=100, average_write=100, age=0.5).see("b", write=48, average_write=48, age=0.5)
    watched = Watched(both.carry("a", at=NOW - 600))
    watched.observe()
    assert watched["foreign_average"] == watched["foreign"] == [0.5, pytest.approx(0.8)]
    policy = watched.rows.policy
    asked = ses_core.need((ses_core.Kind.AVERAGE_WRITE, False, False, 50 * MB, 1.0))
    assert Query(watched.rows.elements, asked, policy).choose() == 0


def test_what_a_file_of_ours_took_is_no_stranger_s_after_its_end(site: Any) -> None:
    watched = Watched(site.equal(1).see("b0", write=100, average_write=90, age=0.5).carry("b0", at=NOW - 600))
    watched.ledger.end(next(iter(watched.ledger.records())).placement_id, "closed", NOW)
    watched.follow()
    watched.site.see("b0", write=0, average_write=90, age=-1)
    watched.observe(NOW + 1)
    assert watched["own"] == [0]
    assert watched["foreign_average"] == [0]


def test_rows_say_what_files_that_are_open_were_promised(site: Any) -> None:
    there = site.equal(3).see_all()
    watched = Watched(there)
    asked = (there.write(70, hard=True), there.write(20))
    files = []
    for place, requirements in ((0, asked[:1]), (0, asked[1:]), (1, ())):
        placement = there.placement(watched.table.elements[place]).replaced(
            requirements=tuple(
                ResolvedRequirement(requirement, Level.USER, "alice") for requirement in requirements
            )
        )
        there.ledger.restore(placement)
        files.append(placement.placement_id)
    watched.follow()
    assert watched["promises"] == [2, 0, 0]
    assert watched["promised"] == watched["promised_hard"] == [70 * MB, 0, 0]
    watched.ledger.end(files[0], "closed", NOW)
    watched.follow()
    assert (watched["promises"][0], watched["promised"][0], watched["promised_hard"][0]) == (1, 20 * MB, 0)
    watched.observe()
    assert watched["promises"] == [1, 0, 0]
