"""The ledger: states, leases, and counts that always equal a recount."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from files_opened import files
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from ses_service.ledger.achieved import FileVerdict
from ses_service.ledger.errors import UnknownPlacementError
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.placement import EndReason, Placement, PlacementState
from ses_service.model.columns import element_table
from ses_service.model.entities import Element, Environment, Subject
from ses_service.model.policies import Policies

NAMES = ("u/a", "u/b", "u/c")
Book = Callable[..., str]


def element(name: str) -> Element:
    return Element(name, name, name, "u", "/" + name, "n1")


USERS = ("bob", "alice")
SILENT_AFTER = 30.0


def placement(number: int, name: str, at: float, lease: float = 30, size: float | None = None) -> Placement:
    return Placement(
        f"{number:016x}",
        Subject(USERS[number % 2]),
        element(name),
        "mergerfs",
        0.0,
        at,
        at + lease,
        expected_bytes=size,
    )


def bound(names: tuple[str, ...] = NAMES, sampled_at: float = 51, **limits: Any) -> Ledger:
    ledger = Ledger(Policies(**limits))
    table = element_table(Environment(elements=tuple(map(element, names))))
    ledger.bind(table, np.full(len(names), float(sampled_at)), 100.0)
    return ledger


def report(ledger: Ledger, placement_id: str, now: float, **known: Any) -> list[str]:
    """Let the file's node report it; return the ids that the ledger does not know."""
    owner = USERS[int(placement_id, 16) % 2]
    opened = {"placement_id": placement_id, "user": owner, "device": 5, "inode": "7", **known}
    ledger.renew_node("n1", "1" * 16, now, now + SILENT_AFTER)
    return ledger.take(files([opened]), "n1", now, lambda *_: None)[0]


def shown(record: Placement, taken: float) -> float:
    """Which part of a stream a sample of that moment shows, with a window of two seconds."""
    ended = math.inf if record.ended_at is None else record.ended_at
    first, last = (max(0.0, taken - moment) for moment in (ended, record.placed_at))
    return math.exp(-first / 2) - math.exp(-last / 2)


@pytest.fixture
def ledger() -> Ledger:
    return bound()


def test_a_placement_is_restored_opened_and_ended(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 100))
    assert ledger.get("0000000000000001").opened_at is None
    report(ledger, "0000000000000001", 101, path="/f", pid=9)
    opened = ledger.get("0000000000000001")
    assert (opened.state, opened.opened_at, opened.path) == (PlacementState.OPEN, 101, "/f")
    ended = ledger.end("0000000000000001", EndReason.CLOSED, 105, 1000)
    assert (ended.state, ended.ended_at, ended.end_reason) == (PlacementState.ENDED, 105, EndReason.CLOSED)
    assert ended.bytes_written == 1000
    assert len(ledger) == 0
    assert ledger.ended_total == {EndReason.CLOSED: 1}


def test_ending_twice_changes_nothing_but_an_unknown_size(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 100))
    first = ledger.end("0000000000000001", EndReason.EXITED, 105)
    second = ledger.end("0000000000000001", EndReason.CLOSED, 110, 77)
    assert (second.ended_at, second.end_reason, second.bytes_written) == (105, EndReason.EXITED, 77)
    assert ledger.end("0000000000000001", EndReason.CLOSED, 120, 99) == second
    assert first.bytes_written is None
    assert sum(ledger.ended_total.values()) == 1


def test_opening_again_keeps_the_moment_and_what_was_known(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 100))
    report(ledger, "0000000000000001", 101, path="/f")
    report(ledger, "0000000000000001", 500)
    again = ledger.get("0000000000000001")
    assert (again.opened_at, again.path, again.lease_until) == (101, "/f", math.inf)
    assert ledger.expire(499 + SILENT_AFTER) == 0
    assert ledger.expire(500 + SILENT_AFTER) == 1


def test_an_unknown_placement_is_an_error(ledger: Ledger) -> None:
    for act in (
        lambda: ledger.get("f" * 16),
        lambda: ledger.end("f" * 16, EndReason.CLOSED, 1),
    ):
        with pytest.raises(UnknownPlacementError, match="ffff"):
            act()
    assert report(ledger, "f" * 16, 1) == ["f" * 16]


def test_an_id_is_counted_once(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 100))
    ledger.restore(placement(1, "u/b", 100))
    assert ledger.counts.open_now.sum() == 1
    assert ledger.get("0000000000000001").element.id == "u/a"


def test_an_ended_placement_cannot_be_opened(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 100))
    ended = ledger.end("0000000000000001", EndReason.EXITED, 101)
    report(ledger, "0000000000000001", 102)
    assert ledger.get("0000000000000001") == ended


def test_a_lease_runs_out_at_its_time_and_not_before(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 100, lease=30))
    assert ledger.expire(129.9) == 0
    assert ledger.expire(130) == 1
    assert ledger.get("0000000000000001").end_reason is EndReason.EXPIRED
    assert ledger.counts.open_now.tolist() == [0, 0, 0]


def test_an_open_placement_outlives_the_lease_it_was_restored_with(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 100, lease=30))
    report(ledger, "0000000000000001", 120)
    assert ledger.expire(149) == 0
    assert ledger.expire(120 + SILENT_AFTER) == 1


def test_an_expired_placement_is_taken_up_again_when_the_agent_speaks_of_it(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 40, lease=30))
    report(ledger, "0000000000000001", 41)
    ledger.expire(41 + SILENT_AFTER)
    assert ledger.keep_verdict(ledger.get("0000000000000001"), FileVerdict(None))
    report(ledger, "0000000000000001", 4000)
    taken = ledger.get("0000000000000001")
    assert (taken.state, taken.ended_at, taken.end_reason) == (PlacementState.OPEN, None, None)
    assert taken.file_verdict is None, "the database takes it for a file that ended otherwise, and refuses it"
    assert ledger.counts.open_now.tolist() == [1, 0, 0]


def test_what_is_open_shows_in_samples_as_the_monitor_averages(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 60, lease=1000))
    for seconds, part in ((0, 0), (1, 0.393), (2, 0.632), (10, 0.993)):
        ledger.observe(np.full(3, 60.0 + seconds), 60.0 + seconds)
        assert ledger.counts.averaged.tolist() == pytest.approx([part, 0, 0], abs=0.001)
    ledger.end("0000000000000001", EndReason.CLOSED, 70)
    ledger.observe(np.full(3, 72.0), 72.0)
    assert ledger.counts.averaged[0] == pytest.approx(0.365, abs=0.001)
    ledger.observe(np.full(3, 72.0), 72.0, window=8.0)
    assert ledger.counts.averaged[0] == pytest.approx(0.556, abs=0.001)


def test_files_too_short_to_be_open_at_any_sample_show_in_it(ledger: Ledger) -> None:
    for number in range(1, 101):
        ledger.restore(placement(number, "u/a", 60 + number / 10))
        ledger.end(f"{number:016x}", EndReason.CLOSED, 60.05 + number / 10)
    ledger.observe(np.full(3, 70.1), 70.2)
    assert ledger.counts.open_now[0] == 0
    assert ledger.counts.averaged[0] == pytest.approx(0.5, abs=0.02)


def test_reserved_bytes_are_those_announced_by_placements_not_ended(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 60, size=500.0))
    ledger.restore(placement(2, "u/a", 60))
    assert ledger.counts.reserved.tolist() == [500, 0, 0]
    ledger.end("0000000000000001", EndReason.CLOSED, 70, 480)
    assert ledger.counts.reserved.tolist() == [0, 0, 0]


def test_an_element_had_its_turn_whatever_became_of_the_placement() -> None:
    ledger = bound()
    for number, placed_at in ((1, 60), (2, 64), (3, 62)):
        ledger.restore(placement(number, "u/a" if number < 3 else "u/b", placed_at))
    ledger.end("0000000000000002", EndReason.UNUSED, 70)
    ledger.restore(placement(4, "u/b", 50))
    assert ledger.counts.last_placed.tolist() == [64, 62, 0]
    ledger.bind(element_table(Environment(elements=(element("u/b"), element("u/a")))), np.zeros(2), 71)
    assert ledger.counts.last_placed.tolist() == [62, 64], "kept when the site is described anew"


def test_records_of_ended_placements_are_bounded() -> None:
    ledger = bound(max_records=3)
    for number in range(1, 6):
        ledger.restore(placement(number, "u/a", 60))
        ledger.end(f"{number:016x}", EndReason.CLOSED, 70)
    assert sorted(record.placement_id[-1] for record in ledger.records()) == ["3", "4", "5"]
    with pytest.raises(UnknownPlacementError):
        ledger.get("0000000000000001")


def test_the_records_of_a_user_are_found_alone() -> None:
    ledger = bound(max_records=2)
    for number in range(1, 9):
        ledger.restore(placement(number, "u/a", 60))
    for number in (1, 2, 3, 4):
        ledger.end(f"{number:016x}", EndReason.CLOSED, 70)
    ledger.release("0000000000000005", 71)

    def ids_of(user: str) -> list[str]:
        return sorted(record.placement_id[-1] for record in ledger.records(user))

    assert (ids_of("alice"), ids_of("bob"), ids_of("eve")) == (["3", "7"], ["4", "6", "8"], [])


def test_a_changed_site_keeps_the_placements_of_elements_it_still_has(ledger: Ledger) -> None:
    ledger.restore(placement(1, "u/a", 60, lease=1000, size=9.0))
    ledger.restore(placement(2, "u/c", 60, lease=1000))
    table = element_table(Environment(elements=(element("u/c"), element("u/d"))))
    ledger.bind(table, np.full(2, 50.0), 61)
    assert ledger.counts.open_now.tolist() == [1, 0]
    ledger.end("0000000000000001", EndReason.CLOSED, 70)
    table = element_table(Environment(elements=tuple(map(element, NAMES))))
    ledger.bind(table, np.full(3, 50.0), 71)
    assert ledger.counts.open_now.tolist() == [0, 0, 1]
    assert ledger.counts.reserved.tolist() == [0, 0, 0]


def test_what_ends_by_itself_can_be_dealt_with_a_few_at_a_time(ledger: Ledger) -> None:
    for number in range(1, 11):
        ledger.restore(placement(number, "u/a", 100).replaced(subject=Subject(USERS[number % 2], node="n1")))
    for number in range(1, 6):
        report(ledger, f"{number:016x}", 100)
    counts = [ledger.expire(130, 3) for _ in range(5)]
    assert counts == [3, 3, 3, 1, 0]
    assert ledger.counts.open_now.tolist() == [0, 0, 0]
    assert ledger.ended_total == {EndReason.SILENT: 5, EndReason.EXPIRED: 5}
    assert (list(ledger.nodes), ledger.nodes.silenced_total) == ([], 1)


def test_a_node_is_in_use_as_long_as_it_says_so_and_is_heard(ledger: Ledger) -> None:
    for name in ("n1", "n2"):
        ledger.renew_node(name, "1" * 16, 100, 130, in_use=True)
    assert ledger.nodes.in_use == 2
    ledger.renew_node("n1", "1" * 16, 101, 131)
    ledger.renew_node("n2", "1" * 16, 110, 140, in_use=True)
    assert ledger.nodes.in_use == 1
    ledger.expire(139)
    assert [node.name for node in ledger.nodes] == ["n2"], "each has until it was last heard of"
    ledger.expire(140)
    assert (list(ledger.nodes), ledger.nodes.in_use) == ([], 0)


def test_a_follower_learns_of_every_change_and_of_what_is_dropped() -> None:
    ledger = bound(max_records=1)
    changed = ledger.follow()
    ledger.restore(placement(1, "u/a", 100))
    assert set(changed) == {"0000000000000001"}
    changed.clear()
    report(ledger, "0000000000000001", 101)
    assert set(changed) == {"0000000000000001"}
    ledger.end("0000000000000001", EndReason.CLOSED, 102)
    ledger.restore(placement(2, "u/a", 103))
    changed.clear()
    ledger.end("0000000000000002", EndReason.CLOSED, 104)
    assert set(changed) == {"0000000000000001", "0000000000000002"}
    assert ledger.find("0000000000000001") is None


class LedgerMachine(RuleBasedStateMachine):
    """Any course of events leaves counts that a recount from the records gives, too."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.sampled_at = np.full(3, 90.0)
        self.ledger = bound(sampled_at=90)
        self.ids: list[str] = []

    @rule(wait=st.floats(0.01, 5))
    def wait(self, wait: float) -> None:
        self.now += wait
        self.ledger.expire(self.now)

    @rule(name=st.sampled_from(NAMES), lease=st.floats(0.5, 20), size=st.none() | st.integers(0, 10**9))
    def book(self, name: str, lease: float, size: int | None) -> None:
        number = len(self.ids) + 1
        made = placement(number, name, self.now, lease, None if size is None else float(size))
        self.ledger.restore(made)
        self.ids.append(made.placement_id)

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def open(self, data: Any) -> None:
        report(self.ledger, data.draw(st.sampled_from(self.ids)), self.now)

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), reason=st.sampled_from(list(EndReason)), size=st.none() | st.integers(0, 10**9))
    def end(self, data: Any, reason: EndReason, size: int | None) -> None:
        self.ledger.end(data.draw(st.sampled_from(self.ids)), reason, self.now, size)

    @rule(row=st.integers(0, 2), age=st.floats(0, 3))
    def observe(self, row: int, age: float) -> None:
        self.sampled_at = self.sampled_at.copy()
        self.sampled_at[row] = max(self.sampled_at[row], self.now - age)
        self.ledger.observe(self.sampled_at, self.now)
        for there, name in enumerate(NAMES):
            taken = float(self.sampled_at[there])
            if self.now - taken < 20:  # beyond, the element's rates are not used
                mean = sum(
                    shown(record, taken) for record in self.ledger.records() if record.element.id == name
                )
                assert self.ledger.counts.averaged[there] == pytest.approx(mean, rel=0.01, abs=0.05)

    @invariant()
    def counts_equal_a_recount(self) -> None:
        for row, name in enumerate(NAMES):
            mine = [record for record in self.ledger.records() if record.element.id == name]
            active = [record for record in mine if record.state is not PlacementState.ENDED]
            assert self.ledger.counts.open_now[row] == len(active)
            assert self.ledger.counts.reserved[row] == sum(record.expected_bytes or 0 for record in active)
            assert self.ledger.counts.averaged[row] >= 0

    @invariant()
    def users_have_their_records(self) -> None:
        for user in USERS:
            all_of_it = {
                record.placement_id for record in self.ledger.records() if record.subject.user == user
            }
            assert {record.placement_id for record in self.ledger.records(user)} == all_of_it


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
