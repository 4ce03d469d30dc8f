"""Announcements: a node's word about its files, taken once however often it is said."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from files_opened import files
from ses_service.ledger.announcement import Announcement, Taken, silence_for, take
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.node_decisions import (
    Considered,
    JobRank,
    NodeDecision,
    NodeDecisions,
    Offered,
    Refused,
)
from ses_service.ledger.pace import Use, pace_for, report_within
from ses_service.ledger.placement import EndReason, Placement, PlacementState
from ses_service.model.columns import ElementTable, element_table
from ses_service.model.entities import (
    Element,
    Environment,
    Kind,
    Level,
    Requirement,
    ResolvedRequirement,
    StorageSystem,
    Subject,
)
from ses_service.model.policies import Policies

NAMES = ("u/a", "u/b", "u/c")
FIRST, SECOND = "1" * 16, "2" * 16


def element(name: str) -> Element:
    return Element(name, name, name, "u", "/" + name, "n1")


class Site:
    """A ledger, its elements and a clock."""

    def __init__(self) -> None:
        systems = {"u": StorageSystem("u", "u", "u", "mergerfs", "/u")}
        environment = Environment(systems, tuple(map(element, NAMES)), {"alice": "materials"})
        self.table: ElementTable = element_table(environment)
        self.ledger = Ledger(Policies())
        self.ledger.bind(self.table, np.full(3, 50.0), 100.0)
        self.now = 100.0

    def book(self, number: int, name: str = "u/a", *, user: str = "alice", node: str = "n1") -> str:
        placement = Placement(
            f"{number:016x}", Subject(user, node=node), element(name), "mergerfs", 0.0, self.now, self.now + 5
        )
        self.ledger.restore(placement)
        return placement.placement_id

    def say(self, announcement: Announcement) -> Taken:
        self.ledger.expire(self.now)
        return take(announcement, self.ledger, self.table, self.now)

    def open_now(self) -> list[float]:
        counts: list[float] = self.ledger.counts.open_now.tolist()
        return counts


@pytest.fixture
def site() -> Site:
    return Site()


def origin(element: str = "u/a", placed_at: float = 100.0, decided_by: str = "program", **more: Any) -> Any:
    return {"element": element, "placed_at": placed_at, "decided_by": decided_by, **more}


def opened(placement_id: str, restore: Any = None, user: str = "alice", **more: Any) -> Any:
    known = {"path": "/u/f", "device": 7, "inode": "42", "pid": 9, "application": "dd", "job": "job-1"}
    return {"placement_id": placement_id, "user": user, "restore": restore, **known, **more}


def over(placement_id: str, size: float | None = None, reason: str = "closed") -> Any:
    return {"placement_id": placement_id, "reason": reason, "bytes_written": size}


def saying(
    *reported: Any, ended: Sequence[Any] = (), agent: str = FIRST, complete: bool = False
) -> Announcement:
    return Announcement("n1", agent, files(reported, ended), complete)


def test_an_opening_is_noted_with_what_the_agent_knows(site: Site) -> None:
    placement = site.book(1)
    taken = site.say(saying(opened(placement)))
    entry = site.ledger.get(placement)
    assert (entry.state, entry.path, entry.device, entry.inode) == (PlacementState.OPEN, "/u/f", 7, "42")
    assert (entry.subject.application, entry.subject.job) == ("dd", "job-1")
    assert (taken.unknown, taken.refused) == ((), ())


def test_the_same_announcement_again_changes_nothing(site: Site) -> None:
    first, second = site.book(1), site.book(2, "u/b")
    said = saying(opened(first), opened(second), ended=(over(second, 10.0),))
    site.say(said)
    before = [site.ledger.get(first), site.ledger.get(second), site.open_now()]
    again = site.say(said)
    assert [site.ledger.get(first), site.ledger.get(second), site.open_now()] == before
    assert (again.unknown, again.refused) == ((), ())
    assert site.open_now() == [1, 0, 0]


def test_an_idle_file_is_open_but_no_stream_until_it_moves(site: Site) -> None:
    placement, other = site.book(1), site.book(2, "u/b")

    def say(idle: bool, agent: str = FIRST) -> None:
        site.now += 10
        reported = opened(placement, origin(expected_bytes=5e9))
        site.say(saying({**reported, "idle": idle}, opened(other), agent=agent))

    def streams_in_sample() -> list[float]:
        site.ledger.observe(np.full(3, site.now), site.now)
        return [round(streams, 1) for streams in site.ledger.counts.averaged.tolist()]

    say(False)
    assert site.open_now() == [1, 1, 0]
    for _ in range(2):  # the same again changes nothing
        say(True)
        assert site.open_now() == [0, 1, 0]
        assert site.ledger.get(placement).state is PlacementState.OPEN
    assert streams_in_sample() == [0, 1, 0]
    site.ledger.bind(site.table, np.full(3, site.now), site.now)
    assert site.open_now() == [0, 1, 0], "also after a change of the site"
    say(False)
    assert site.open_now() == [1, 1, 0]
    assert streams_in_sample() == [0, 1, 0], "it begins with that"
    say(True)
    site.say(saying(ended=(over(placement, 10.0),)))
    assert site.open_now() == [0, 1, 0]


def test_a_file_that_is_idle_when_a_ledger_first_hears_of_it_is_no_stream(site: Site) -> None:
    reported = opened("0" * 15 + "9", origin(expected_bytes=5e9))
    site.say(saying({**reported, "idle": True}))
    assert site.open_now() == [0, 0, 0]
    assert site.ledger.counts.reserved.tolist() == [0, 0, 0]
    site.say(saying({**reported, "idle": False}))
    assert site.open_now() == [1, 0, 0]
    assert site.ledger.counts.reserved.tolist() == [5e9, 0, 0]


def test_the_size_of_an_open_file_counts_before_its_end(site: Site) -> None:
    reported = opened("0" * 15 + "9", origin())
    site.say(saying({**reported, "bytes": 5e9}))
    site.say(saying(ended=(over(reported["placement_id"], 6e9),)))
    seen = [(is_known, sizes) for *_, is_known, _, sizes in site.ledger.take_sizes(9)]
    assert seen == [(False, [5e9]), (True, [6e9])]


def test_sizes_of_files_alike_are_learned_together_and_in_their_order(site: Site) -> None:
    paths = ("/d/f1", "/d/f2", None, "/d/f3")
    reported = [opened(f"{number:016x}", origin(), path=path) for number, path in enumerate(paths, 1)]
    site.say(saying(*reported))
    ends = (over(report["placement_id"], float(size)) for size, report in enumerate(reported))
    site.say(saying(ended=tuple(ends)))
    sizes = [(pattern, sizes) for _, _, pattern, *_, sizes in site.ledger.take_sizes(1)]
    sizes += [(pattern, sizes) for _, _, pattern, *_, sizes in site.ledger.take_sizes(9)]
    assert sizes == [("/d/f#", [0.0]), ("/d/f#", [1.0]), (None, [2.0]), ("/d/f#", [3.0])]
    assert site.ledger.take_sizes(9) == []


def test_one_sign_of_life_keeps_all_files_of_a_node_open(site: Site) -> None:
    ids = [site.book(number) for number in range(1, 6)]
    site.say(saying(*map(opened, ids)))
    for _ in range(20):
        site.now += silence_for(pace_for(Use.NONE, 1)) - 1
        site.say(saying())
    assert site.open_now() == [5, 0, 0]


def test_a_silent_node_has_nothing_open_and_may_come_back(site: Site) -> None:
    placement = site.book(1)
    site.say(saying(opened(placement)))
    site.now += silence_for(pace_for(Use.NONE, 1))
    site.ledger.expire(site.now)
    assert site.ledger.get(placement).end_reason is EndReason.SILENT
    assert site.open_now() == [0, 0, 0]
    site.say(saying(opened(placement)))
    assert site.ledger.get(placement).state is PlacementState.OPEN
    assert site.open_now() == [1, 0, 0]


def test_an_unknown_file_is_asked_for_and_then_restored(site: Site) -> None:
    name = "f" * 16
    assert site.say(saying(opened(name))).unknown == (name,)
    known = origin("u/b", 90.0, "agent", distance=0.25, expected_bytes=1000.0, notes=["chosen among 4 of 3"])
    assert site.say(saying(opened(name, known))).unknown == ()
    site.say(saying(opened(name, known)))
    entry = site.ledger.get(name)
    assert (entry.element.id, entry.decided_by, entry.placed_at) == ("u/b", "agent", 90.0)
    assert (entry.subject.vo, entry.backend) == ("materials", "mergerfs")
    assert entry.notes == ("chosen among 4 of 3",)
    assert site.open_now() == [0, 1, 0]
    assert site.ledger.counts.reserved.tolist() == [0, 1000, 0]


def test_a_file_on_an_element_the_site_lacks_is_refused(site: Site) -> None:
    taken = site.say(saying(opened("e" * 16, origin("u/gone"))))
    assert taken.refused[0][0] == "e" * 16
    assert "u/gone" in taken.refused[0][1]
    assert site.open_now() == [0, 0, 0]


def test_nobody_opens_or_ends_what_is_not_theirs(site: Site) -> None:
    theirs, elsewhere = site.book(1, user="bob"), site.book(2, node="n2")
    taken = site.say(saying(opened(theirs), opened(elsewhere), ended=(over(elsewhere),)))
    assert [placement for placement, _ in taken.refused] == [theirs, elsewhere, elsewhere]
    assert site.ledger.get(theirs).opened_at is None
    assert site.ledger.get(elsewhere).state is PlacementState.OPEN


def test_a_restarted_agent_is_told_what_the_ledger_holds_once(site: Site) -> None:
    placement = site.book(1)
    site.say(saying(opened(placement)))
    assert site.say(saying()).open is None
    answer = site.say(saying(agent=SECOND)).open
    assert answer is not None
    assert [held.placement_id for held in answer] == [placement]
    assert site.say(saying(agent=SECOND)).open is None


def test_a_complete_list_ends_what_is_not_in_it(site: Site) -> None:
    kept, lost = site.book(1), site.book(2)
    site.say(saying(opened(kept), opened(lost)))
    site.say(saying(opened(kept), complete=True))
    assert site.ledger.get(lost).end_reason is EndReason.LOST
    assert site.ledger.get(kept).state is PlacementState.OPEN
    assert site.open_now() == [1, 0, 0]


def test_a_ticket_said_to_be_unused_counts_again_when_its_file_turns_up(site: Site) -> None:
    placement = site.book(1)
    site.say(saying(ended=(over(placement, reason="unused"),)))
    assert site.open_now() == [0, 0, 0]
    site.say(saying(opened(placement)))
    assert site.open_now() == [1, 0, 0]


def test_a_closed_file_stays_closed_whatever_is_said_late(site: Site) -> None:
    placement = site.book(1)
    site.say(saying(opened(placement), ended=(over(placement, 5.0),)))
    taken = site.say(saying(opened(placement)))
    assert (taken.unknown, taken.refused) == ((), ())
    assert site.ledger.get(placement).end_reason is EndReason.CLOSED
    assert site.open_now() == [0, 0, 0]


def test_a_file_spread_over_elements_counts_on_each(site: Site) -> None:
    stripes = tuple(map(element, NAMES[:2]))
    placement = Placement(
        "a" * 16, Subject("alice", node="n1"), stripes[0], "lustre", 0.0, 100, 105,
        stripes=stripes, stripe_count=2, expected_bytes=100.0,
    )  # fmt: skip
    site.ledger.restore(placement)
    assert site.open_now() == [1, 1, 0]
    assert site.ledger.counts.reserved.tolist() == [50, 50, 0]
    site.say(saying(ended=(over("a" * 16, 60.0),)))
    assert site.open_now() == [0, 0, 0]
    assert site.ledger.counts.last_placed.tolist() == [100, 100, 0]


def test_ten_thousand_idle_nodes_are_asked_to_speak_seldom() -> None:
    assert pace_for(Use.NONE, 1) == 2
    assert 10_000 / pace_for(Use.NONE, 10_000) < 250
    assert pace_for(Use.NONE, 10**6) == 60
    assert silence_for(60) == 180


def decision(number: int = 0) -> NodeDecision:
    wanted = ResolvedRequirement(Requirement(Kind.CURRENT_WRITE_RATE, 100e6), Level.USER, "alice")
    return NodeDecision(
        decided_at=99.0,
        age=7.0,
        offline=True,
        requirements=(wanted,),
        expected_bytes=None,
        expected_from=None,
        candidates=(
            Considered("u/b", 0.0, Offered(write=120e6, free=5e9), 1.0, 0.4),
            Considered("u/a", 0.5, Offered(write=50e6), 0.0, None),
        ),
        refused=(Refused("u/c", "hard-requirement", 0),),
        refused_total=4,
        job_rank=JobRank(5, 8, "u/b"),
        compared=1,
    )


def test_a_file_a_program_placed_is_explained_as_a_decision_of_the_service_is(site: Site) -> None:
    batch = {"id": 3, "batch_number": 2, "batch_size": 5, "predicted": {"write": 25e6}}
    report = opened("a" * 16, origin(placed_at=99.5, distance=0.5), decision=batch)
    said = replace(saying(report), decisions=NodeDecisions({3: decision()}))
    site.say(said)
    entry = site.ledger.get("a" * 16)
    assert (entry.state, entry.path, entry.decided_by) == (PlacementState.OPEN, "/u/f", "program")
    assert (entry.rank, entry.batch_number, entry.batch_size) == (2, 2, 5)
    assert [
        (candidate.element.id, candidate.rank, candidate.basis.value) for candidate in entry.candidates
    ] == [("u/b", 1, "monitor+ledger"), ("u/a", 2, "static")]
    assert [(prediction.value, prediction.shortfall) for prediction in entry.candidates[1].predicted] == [
        (50e6, 0.5)
    ]
    assert [(prediction.value, prediction.shortfall) for prediction in entry.predicted] == [(25e6, 0.75)]
    assert [(refusal.reason.value, refusal.detail) for refusal in entry.refused] == [
        ("hard-requirement", "It misses the hard minimum of 100 MB/s for current-write-rate.")
    ]
    assert entry.notes == (
        "The node was offline; the last answer of the service was 7.0 s old.",
        "Rank 5 of 8 of its job: of equals the first from u/b on.",
        "Only 1 of the nearest elements were compared, the first in the order of the node or rank: "
        "other nodes may have placed files of which it did not know yet.",
        "3 more elements were refused.",
    )
    assert site.open_now() == [1, 0, 0]


def test_files_of_one_decision_share_what_explains_them(site: Site) -> None:
    reported = [
        opened(f"{number:016x}", origin(), decision={"id": 0, "batch_number": number, "batch_size": 2})
        for number in (1, 2)
    ]
    site.say(replace(saying(*reported), decisions=NodeDecisions({0: decision()})))
    first, second = (site.ledger.get(f"{number:016x}") for number in (1, 2))
    assert first.candidates is second.candidates
    assert (first.batch_number, second.batch_number) == (1, 2)


def test_a_file_of_a_decision_that_is_not_told_is_taken_without_an_explanation(site: Site) -> None:
    site.say(saying(opened("b" * 16, origin(), decision={"id": 9})))
    assert site.ledger.get("b" * 16).candidates == ()


def test_nodes_whose_tables_are_in_use_speak_as_often_as_the_service_can_hear_them(site: Site) -> None:
    announcement = saying()
    paces = [site.say(replace(announcement, use=use)).pace for use in (Use.NOW, Use.PERHAPS, Use.NONE)]
    assert paces == [0.1, 1.0, 2.0]
    for number in range(1000):
        answer = site.say(replace(announcement, node=f"n{number}", use=Use.NOW))
    assert (answer.pace, answer.report_within) == (0.5, 0.25)
    for number in range(900):
        answer = site.say(replace(announcement, node=f"n{number}", use=Use.PERHAPS))
    assert (answer.pace, answer.report_within) == (1.0, 0.05), (
        "those that do not use theirs leave room to the others"
    )
    assert site.say(replace(announcement, node="n950", use=Use.NOW)).pace == 0.1


def test_tables_in_use_are_heard_of_at_least_as_often_as_others() -> None:
    for nodes in (1, 64, 1000, 10_000, 100_000):
        assert pace_for(Use.NOW, nodes) <= pace_for(Use.PERHAPS, nodes) <= pace_for(Use.NONE, nodes)
        assert report_within(nodes) <= min(1.0, pace_for(Use.NOW, nodes))
