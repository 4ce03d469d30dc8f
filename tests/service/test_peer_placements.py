"""Other services' placements: counted beside our own, each file once, and gone with who said it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from ses_service.ledger.ledger import Ledger, Opening
from ses_service.ledger.peer_placements import Change
from ses_service.ledger.placement import EndReason, Placement
from ses_service.model.columns import element_table
from ses_service.model.entities import Element, Environment, Subject
from ses_service.model.policies import Policies

NAMES = ("u/a", "u/b", "u/c")
A, B = "a" * 16, "b" * 16


def element(name: str) -> Element:
    return Element(name, name, name, "u", "/" + name, "n1")


def own(placement_id: str, name: str, at: float = 100.0) -> Placement:
    return Placement(placement_id, Subject("alice", node="n1"), element(name), "mergerfs", 0.0, at, at + 1000)


@pytest.fixture
def ledger() -> Ledger:
    made = Ledger(Policies())
    made.bind(element_table(Environment(elements=tuple(map(element, NAMES)))), np.full(3, 50.0), 100.0)
    return made


def carries(placement_id: str, *names: str, at: float = 90.0, size: float | None = None) -> Change:
    return Change(placement_id, names, at, "n9", size)


def say(
    ledger: Ledger, origin: str, sequence: int, *changes: Change, full: bool = False, now: float = 100.0
) -> bool:
    return ledger.take_changes(origin, sequence, full=full, changes=changes, now=now, until=now + 10)


def test_what_others_carry_counts_on_every_element_of_it(ledger: Ledger) -> None:
    assert say(ledger, A, 1, carries("1" * 16, "u/a", "u/c", size=100.0), full=True)
    assert ledger.counts.open_now.tolist() == [1, 0, 1]
    ledger.observe(np.full(3, 100.0), 100.0)
    assert ledger.counts.averaged.tolist() == pytest.approx([1, 0, 1], abs=0.01)
    assert ledger.counts.reserved.tolist() == [50, 0, 50]
    assert ledger.counts.booked_last.tolist() == [90, 0, 90]
    assert say(ledger, A, 2, Change("1" * 16, (), 0.0))
    assert ledger.counts.open_now.tolist() == [0, 0, 0]
    assert len(ledger) == 0


def test_it_ends_with_the_silence_of_who_said_it(ledger: Ledger) -> None:
    say(ledger, A, 1, carries("1" * 16, "u/a"), full=True)
    say(ledger, B, 1, carries("2" * 16, "u/a"), full=True, now=105.0)
    ledger.expire(110.0)
    assert ledger.counts.open_now.tolist() == [1, 0, 0]
    assert ledger.of_peers.peers == 1


def test_a_missing_message_asks_for_everything_and_a_repeated_one_changes_nothing(ledger: Ledger) -> None:
    assert not say(ledger, A, 7, carries("1" * 16, "u/a"))
    assert say(ledger, A, 1, carries("1" * 16, "u/a"), full=True)
    assert say(ledger, A, 2, carries("2" * 16, "u/b"))
    assert say(ledger, A, 2, carries("2" * 16, "u/b"))
    assert not say(ledger, A, 4, carries("3" * 16, "u/b"))
    assert ledger.counts.open_now.tolist() == [1, 1, 0]


def test_saying_everything_again_forgets_what_is_not_in_it(ledger: Ledger) -> None:
    say(ledger, A, 1, carries("1" * 16, "u/a"), carries("2" * 16, "u/b"), full=True)
    say(ledger, A, 5, carries("2" * 16, "u/b"), full=True)
    assert ledger.counts.open_now.tolist() == [0, 1, 0]


def test_a_node_that_comes_over_from_another_service_is_counted_once(ledger: Ledger) -> None:
    say(ledger, A, 1, carries("1" * 16, "u/a"), full=True)
    ledger.restore(own("1" * 16, "u/a"))
    assert ledger.counts.open_now.tolist() == [1, 0, 0]
    ledger.end("1" * 16, EndReason.CLOSED, 101.0)
    assert ledger.counts.open_now.tolist() == [0, 0, 0]
    say(ledger, A, 2, carries("1" * 16, "u/a"))
    assert ledger.counts.open_now.tolist() == [0, 0, 0]


def test_a_node_that_goes_over_to_another_service_still_counts_when_it_is_silent_here(
    ledger: Ledger,
) -> None:
    ledger.restore(own("1" * 16, "u/a"))
    ledger.hear("n1", A, 100.0, 130.0)
    ledger.open(Opening("1" * 16), 100.0, node="n1")
    say(ledger, B, 1, carries("1" * 16, "u/a"), full=True)
    assert ledger.counts.open_now.tolist() == [1, 0, 0]
    say(ledger, B, 2, now=125.0)
    ledger.expire(130.0)
    assert ledger.counts.open_now.tolist() == [1, 0, 0]
    ledger.expire(135.0)
    assert ledger.counts.open_now.tolist() == [0, 0, 0]


class Services(RuleBasedStateMachine):
    """Whatever three services say of the same files, each file that is open somewhere counts once."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(Policies())
        table = element_table(Environment(elements=tuple(map(element, NAMES))))
        self.ledger.bind(table, np.full(3, 50.0), 100.0)
        self.now = 100.0
        self.files: list[str] = []
        self.said: dict[str, set[str]] = {A: set(), B: set()}
        self.sequence = {A: 0, B: 0}

    def name(self, placement_id: str) -> str:
        return NAMES[int(placement_id, 16) % 3]

    @rule()
    def another_file(self) -> None:
        self.files.append(f"{len(self.files) + 1:016x}")

    @precondition(lambda self: self.files)
    @rule(data=st.data(), origin=st.sampled_from([A, B]), goes_on=st.booleans())
    def say(self, data: Any, origin: str, goes_on: bool) -> None:
        one = data.draw(st.sampled_from(self.files))
        change = Change(one, (self.name(one),) if goes_on else (), self.now)
        full = self.sequence[origin] == 0 or data.draw(st.booleans())
        if full:
            self.said[origin].clear()
        self.sequence[origin] += 1
        assert self.ledger.take_changes(
            origin, self.sequence[origin], full=full, changes=[change], now=self.now, until=self.now + 10
        )
        (self.said[origin].add if goes_on else self.said[origin].discard)(one)

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def carry(self, data: Any) -> None:
        one = data.draw(st.sampled_from(self.files))
        if self.ledger.find(one) is None:
            self.ledger.restore(own(one, self.name(one), self.now))

    @precondition(lambda self: self.files)
    @rule(data=st.data(), reason=st.sampled_from([EndReason.CLOSED, EndReason.SILENT]))
    def end(self, data: Any, reason: EndReason) -> None:
        one = data.draw(st.sampled_from(self.files))
        if self.ledger.find(one) is not None:
            self.ledger.end(one, reason, self.now)

    @rule(origin=st.sampled_from([A, B]))
    def fall_silent(self, origin: str) -> None:
        for name, sequence in self.sequence.items():
            if name != origin and sequence:
                self.ledger.take_changes(name, sequence, full=False, changes=[], now=self.now, until=1e9)
        self.ledger.expire(self.now)
        if self.sequence[origin]:
            self.ledger.take_changes(
                origin, self.sequence[origin], full=False, changes=[], now=self.now, until=self.now
            )
            self.ledger.expire(self.now)
            self.sequence[origin] = 0
            self.said[origin].clear()

    @invariant()
    def each_file_counts_once(self) -> None:
        expected = [0.0, 0.0, 0.0]
        for one in self.files:
            mine = self.ledger.find(one)
            active = mine is not None and mine.ended_at is None
            closed = mine is not None and mine.end_reason is EndReason.CLOSED
            elsewhere = any(one in said for said in self.said.values())
            expected[NAMES.index(self.name(one))] += active or (elsewhere and not closed)
        assert self.ledger.counts.open_now.tolist() == expected
        assert (self.ledger.counts.averaged >= 0).all()
        assert (self.ledger.counts.reserved >= 0).all()


TestServices = Services.TestCase
TestServices.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
