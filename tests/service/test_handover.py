"""Two ledgers notified of what the other stored: each file counts once, and both come to the same."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from files_opened import files
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from ses_service.ledger import handover
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.placement import EndReason, PeerPlacement, Placement, PlacementState
from ses_service.ledger.size_history import SizeKey
from ses_service.model.columns import element_table
from ses_service.model.entities import Element, Environment, Subject
from ses_service.model.policies import Policies
from ses_service.store import notifications

NAMES = ("u/a", "u/b", "u/c")
NODE, AGENT, LATER_AGENT = "n1", "a" * 16, "b" * 16


def element(name: str) -> Element:
    return Element(name, name, name, "u", "/" + name, "n1")


def placed(placement_id: str, *names: str, at: float = 100.0, **more: Any) -> Placement:
    stripes = tuple(map(element, names))
    subject = Subject("alice", node=NODE)
    return Placement(
        placement_id, subject, stripes[0], "mergerfs", 0.0, at, math.inf, stripes=stripes, **more
    )


class Service:
    """A ledger, and what of it is not stored yet.

    ``stored`` says of each file who carries it, and whether it is open.
    """

    def __init__(self, name: str, stored: dict[str, tuple[str, bool]], records: int = 10_000) -> None:
        self.name = name * 16
        self.ledger = Ledger(Policies(max_records=records))
        self.ledger.left = set()
        table = element_table(Environment(elements=tuple(map(element, NAMES))))
        self.ledger.bind(table, np.full(3, 50.0), 100.0)
        self._changed = self.ledger.follow()
        self.stored = stored

    def hear(self, number: int, incarnation: str = AGENT, now: float = 100.0) -> bool:
        return self.ledger.renew_node(NODE, incarnation, now, now + 30.0, number=number)

    def open(self, placement_id: str, *names: str) -> None:
        if self.ledger.find(placement_id) is None:
            self.ledger.restore(placed(placement_id, *names))
        else:
            self.report(placement_id, 100.0)

    def report(self, placement_id: str, now: float, *, idle: bool = False) -> None:
        opened = {"placement_id": placement_id, "user": "alice", "device": 1, "inode": "1", "idle": idle}
        self.ledger.take(files([opened]), NODE, now, lambda *_: None)

    def adopt(self, ids: Iterable[str]) -> None:
        """Take over the stored ones of these that are open."""
        for placement_id in sorted(ids):
            if self.stored.get(placement_id, ("", False))[1]:
                self.stored[placement_id] = (self.name, True)
                self.ledger.restore(placed(placement_id, NAMES[int(placement_id, 16) % 3]))
                self.ledger.doubt(placement_id)
                self.ledger.nodes.expect(NODE, 100.0, 1000.0)

    def store(self) -> list[str]:
        """Store what changed; return what the other is told."""
        assert self.ledger.left is not None
        self.adopt(self.ledger.left)
        for placement_id in self.ledger.left:
            self.ledger.of_peers.forget_placement(placement_id, 100.0)
        self.ledger.left.clear()
        changes = [(changed, self.ledger.find(changed)) for changed in sorted(self._changed)]
        self._changed.clear()
        for placement_id, placement in changes:
            if placement is None and self.stored.get(placement_id, ("", False))[0] == self.name:
                del self.stored[placement_id]
            if placement is not None:
                self.stored[placement_id] = (self.name, placement.state is PlacementState.OPEN)
        node = self.ledger.nodes.get(NODE)
        spoken = {} if node is None else {NODE: (node.incarnation, node.number)}
        return notifications.texts(self.name, changes, {}, 100.0, spoken) if changes else []

    def take(self, text: str, now: float = 100.0) -> None:
        handover.take(notifications.read(text, now), self.ledger, now)

    def counts(self) -> list[list[float]]:
        """What counts of each element, and on average until a sample at 160."""
        self.ledger.observe(np.full(3, 160.0), 160.0)
        counts = self.ledger.counts
        return [
            count.tolist()
            for count in (counts.open_now, counts.reserved, counts.last_placed, counts.averaged)
        ]

    @property
    def open_now(self) -> list[float]:
        counted: list[float] = self.ledger.counts.open_now.tolist()
        return counted


@pytest.fixture
def pair() -> tuple[Service, Service]:
    stored: dict[str, tuple[str, bool]] = {}
    return Service("a", stored), Service("b", stored)


def tell(sender: Service, receiver: Service, now: float = 100.0) -> None:
    for text in sender.store():
        receiver.take(text, now)


def test_what_the_other_carries_counts_on_every_element_of_it(pair: tuple[Service, Service]) -> None:
    first, second = pair
    first.hear(1)
    first.ledger.restore(placed("1" * 16, "u/a", "u/c", at=90.0, expected_bytes=100.0))
    tell(first, second)
    counts = second.ledger.counts
    assert counts.open_now.tolist() == [1, 0, 1]
    assert counts.reserved.tolist() == [50, 0, 50]
    assert counts.last_placed.tolist() == [90, 0, 90]
    second.ledger.observe(np.full(3, 100.0), 100.0)
    assert counts.averaged.tolist() == pytest.approx([1, 0, 1], abs=0.01)
    assert (len(second.ledger), second.ledger.of_peers.open_on) == (0, {NODE: 1})
    first.ledger.end("1" * 16, EndReason.CLOSED, 101.0)
    tell(first, second)
    assert (second.open_now, len(second.ledger.of_peers)) == ([0, 0, 0], 0)


def test_who_hears_its_own_word_knows_it_unread(pair: tuple[Service, Service]) -> None:
    first, second = pair
    first.open("1" * 16, "u/a")
    texts = [
        *first.store(),
        *notifications.texts(first.name, [], {SizeKey("alice", "", ""): [1.0]}, 100.0, {}),
    ]
    assert len(texts) == 2
    assert all(notifications.is_sent_by(text, first.name) for text in texts)
    assert not any(notifications.is_sent_by(text, second.name) for text in texts)


def test_files_of_many_nodes_in_one_word_count_as_told_one_by_one(pair: tuple[Service, Service]) -> None:
    first, second = pair
    claims = [
        placed(
            f"{number:016x}", *NAMES[: number % 3 + 1], at=50.0 + number, expected_bytes=float(number * 100)
        )
        for number in range(1, 40)
    ]
    for number, claim in enumerate(claims):
        first.ledger.restore(claim.replaced(subject=Subject("alice", node=f"n{number % 5}")))
    for text in first.store():
        second.take(text)
    for counted, expected in zip(second.counts(), first.counts(), strict=True):
        assert counted == pytest.approx(expected)
    assert second.ledger.of_peers.open_on == {f"n{number}": 8 if number < 4 else 7 for number in range(5)}
    for claim in claims[::2]:
        first.ledger.end(claim.placement_id, EndReason.CLOSED, 150.0)
    for text in first.store():
        second.take(text, 150.0)
    for counted, expected in zip(second.counts(), first.counts(), strict=True):
        assert counted == pytest.approx(expected)


def test_the_clock_of_the_other_does_not_matter(pair: tuple[Service, Service]) -> None:
    first, second = pair
    first.ledger.restore(placed("1" * 16, "u/a", at=98.0))
    (text,) = first.store()
    second.take(text, now=5_000.0)
    assert [round(claim.placed_at, 3) for claim in second.ledger.of_peers.counted()] == [4_998.0]


def test_a_file_that_is_idle_counts_not(pair: tuple[Service, Service]) -> None:
    first, second = pair
    first.hear(1)
    first.open("1" * 16, "u/a")
    tell(first, second)
    first.report("1" * 16, 101.0, idle=True)
    tell(first, second)
    assert second.open_now == [0, 0, 0]
    first.report("1" * 16, 102.0)
    tell(first, second)
    assert second.open_now == [1, 0, 0]


def test_an_agent_begun_anew_belongs_to_who_hears_it(pair: tuple[Service, Service]) -> None:
    first, second = pair
    first.hear(7)
    first.open("1" * 16, "u/a")
    tell(first, second)
    second.hear(1, LATER_AGENT)
    second.open("1" * 16, "u/a")
    tell(second, first, now=103.0)
    assert (len(first.ledger), len(second.ledger)) == (0, 1)
    assert first.open_now == second.open_now == [1, 0, 0]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_the_node_ended_is_stored_as_ended_after_another_stored_it_open(
    pair: tuple[Service, Service], number: int
) -> None:
    first, second = pair
    first.hear(2)
    first.open("1" * 16, "u/a")
    first.ledger.end("1" * 16, EndReason.CLOSED, 100.0)
    first.store()
    second.hear(number)
    second.open("1" * 16, "u/a")
    tell(second, first)
    assert first.stored["1" * 16] == (second.name, True)
    first.store()
    assert first.stored["1" * 16] == (first.name, False)


def test_an_agent_that_numbers_nothing_leaves_its_files_to_whom_it_speaks_with(
    pair: tuple[Service, Service],
) -> None:
    first, second = pair
    for service in pair:
        service.hear(0)
        service.open("1" * 16, "u/a")
        tell(first, second)
    tell(second, first)
    assert first.open_now == second.open_now == [1, 0, 0]
    second.ledger.renew_node(NODE, AGENT, 120.0, 150.0)
    first.ledger.expire(131.0)
    for _ in range(3):
        tell(first, second)
        tell(second, first)
    assert first.ledger.find("1" * 16) is not None
    assert (len(first.ledger), len(second.ledger)) == (0, 1)
    assert first.open_now == second.open_now == [1, 0, 0]


def test_a_node_that_went_over_without_a_file_is_not_silent(pair: tuple[Service, Service]) -> None:
    first, second = pair
    first.hear(1)
    second.hear(2)
    for text in notifications.texts(second.name, [], {}, 100.0, {NODE: (AGENT, 2)}):
        first.take(text)
    assert [first.ledger.nodes.get(NODE), first.ledger.nodes.silenced_total] == [None, 0]
    first.ledger.expire(200.0)
    assert (first.ledger.nodes.silenced_total, first.ledger.nodes.silent) == (0, {})


def test_who_is_gone_is_forgotten_and_what_is_stored_takes_the_place_of_what_was_told(
    pair: tuple[Service, Service],
) -> None:
    first, second = pair
    first.hear(1)
    for number, name in enumerate(NAMES):
        first.open(f"{number:016x}", name)
    tell(first, second)
    of_peers = second.ledger.of_peers
    of_peers.keep([claim for claim in list(of_peers.counted()) if claim.elements != ("u/a",)], 101.0)
    assert second.open_now == [0, 1, 1]
    of_peers.forget({first.name}, 101.0)
    assert second.open_now == [0, 1, 1]
    of_peers.forget((), 101.0)
    assert second.open_now == [0, 0, 0]


def test_texts_are_as_long_as_a_notification_may_be_and_lose_nothing() -> None:
    ids = [f"{number:016x}" for number in range(2000)]
    changes: list[tuple[str, Placement | None]] = [
        (placement, placed(placement, "u/a", "u/b")) for placement in ids
    ]
    changes += [(f"{'f' * 15}{number}", None) for number in range(3)]
    wide = placed("e" * 16, *(f"u/element-{number}" for number in range(500)))
    sizes = {SizeKey("älice", "dd", f"/d/{'x' * 150}.{number}"): [7.0, 8.5] for number in range(200)}
    texts = notifications.texts(
        "a" * 16, [*changes, (wide.placement_id, wide)], sizes, 100.0, {NODE: (AGENT, 4)}
    )
    assert max(len(text.encode()) for text in texts) <= notifications.MAX_BYTES
    read = [notifications.read(text, 100.0) for text in texts]
    nodes = [node for answer in read for node in answer.nodes]
    assert {(node.node, node.incarnation, node.number) for node in nodes} == {(NODE, AGENT, 4)}
    opened = {claim.placement_id: claim.elements for node in nodes for claim in node.opened}
    assert opened == {**dict.fromkeys(ids, ("u/a", "u/b")), wide.placement_id: ()}
    assert {key: learned for answer in read for key, learned in answer.sizes} == sizes


@pytest.mark.parametrize("text", ["", "7", "{}", '{"origin": "x", "nodes": [[]], "sizes": []}'])
def test_what_is_no_notification_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        notifications.read(text, 1.0)


class Handover(RuleBasedStateMachine):
    """A node opens and ends files and goes from one service to the other, whatever is heard when.

    A service may be killed and started again at any time.  Its agent says what was not stored to the other
    service, or has so much to say that it does not know everything any more.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[str, tuple[str, bool]] = {}
        self.services = [Service(name, self.stored, records=2) for name in "ab"]
        self.killed = 0
        self.sent: list[list[str]] = [[], []]  # to each, in order
        self.number = 0
        self.at = 0
        self.files = 0
        self.open: set[str] = set()
        self.ended: set[str] = set()

    def name(self, placement_id: str) -> str:
        return NAMES[int(placement_id, 16) % 3]

    def say(self) -> Service:
        self.number += 1
        service = self.services[self.at]
        ledger = service.ledger
        first = service.hear(self.number)
        for placement in ledger.open_on(NODE) if first else ledger.take_doubted(NODE):
            if placement.placement_id not in self.open:
                ledger.end(placement.placement_id, EndReason.CLOSED, 100.0)
        return service

    @rule()
    def another_file(self) -> None:
        self.files += 1
        placement_id = f"{self.files:016x}"
        self.open.add(placement_id)
        self.say().open(placement_id, self.name(placement_id))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def end(self, data: Any) -> None:
        placement_id = data.draw(st.sampled_from(sorted(self.open)))
        self.open.discard(placement_id)
        self.ended.add(placement_id)
        self.say().ledger.end(placement_id, EndReason.CLOSED, 100.0)

    @rule(data=st.data())
    def go_over(self, data: Any) -> None:
        self.at = 1 - self.at
        service = self.say()
        for placement_id in sorted(self.open):
            service.open(placement_id, self.name(placement_id))
        service.ledger.end_others(NODE, self.open, 100.0)
        if self.open and data.draw(st.booleans()):  # it is said with the end of one
            self.end(data)

    @rule(data=st.data(), which=st.sampled_from([0, 1]))
    def kill(self, data: Any, which: int) -> None:
        killed = self.services[which]
        self.sent[which].clear()
        if which == self.at:
            self.go_over(data)
            if data.draw(st.booleans()):
                service = self.say()
                for placement_id in sorted(self.ended):
                    if service.ledger.find(placement_id) is None:
                        service.open(placement_id, self.name(placement_id))
                    service.ledger.end(placement_id, EndReason.CLOSED, 100.0)
        self.killed += 1
        begun = self.services[which] = Service(str(self.killed), self.stored, records=2)
        begun.adopt([placement for placement, (name, _) in self.stored.items() if name == killed.name])
        claims = [
            PeerPlacement(placement, name, NODE, (self.name(placement),), 100.0, None)
            for placement, (name, is_open) in self.stored.items()
            if is_open and name != begun.name
        ]
        begun.ledger.of_peers.keep(claims, 100.0)

    @rule(which=st.sampled_from([0, 1]))
    def look(self, which: int) -> None:
        self.services[which].ledger.of_peers.forget({self.services[1 - which].name}, 100.0)

    @rule(which=st.sampled_from([0, 1]))
    def store(self, which: int) -> None:
        self.sent[1 - which] += self.services[which].store()

    @rule(which=st.sampled_from([0, 1]))
    def take(self, which: int) -> None:
        if self.sent[which]:
            self.services[which].take(self.sent[which].pop(0))

    def teardown(self) -> None:
        for _ in range(8):  # rounds after which nothing is left to say
            for which in (0, 1):
                self.store(which)
                while self.sent[1 - which]:
                    self.take(1 - which)
                self.look(which)
            self.say()
        assert not any(service.store() for service in self.services), "they do not answer each other for ever"
        expected = [float(sum(self.name(placement) == name for placement in self.open)) for name in NAMES]
        for service in self.services:
            assert service.open_now == expected
            assert (service.ledger.counts.averaged >= 0).all()
        holders = [
            {
                placement.placement_id
                for placement in each.ledger.records()
                if placement.state is PlacementState.OPEN
            }
            for each in self.services
        ]
        assert holders[self.at] == self.open
        assert not holders[1 - self.at]
        assert {placement for placement, (_, is_open) in self.stored.items() if is_open} == self.open
        assert {self.stored[placement][0] for placement in self.open} <= {self.services[self.at].name}


TestHandover = Handover.TestCase
TestHandover.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
