"""What is kept between decisions changes no decision: asked alike, with and without, whatever happens."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from generated_sites import build, requirements, sites
from hypothesis import given, settings
from hypothesis import strategies as st
from ses_service.model import Subject
from ses_service.policies import Policies
from ses_service.question import View
from ses_service.selection import deal, decide
from ses_service.standing import Kept

Site = Any

places = st.integers(0, 6)
happenings = st.one_of(
    st.tuples(st.just("book"), places, st.none() | st.sampled_from([1e9, 4e11])),
    st.tuples(st.just("end"), places, st.none()),
    st.tuples(st.just("sample"), places, st.floats(0, 500)),
    st.tuples(st.just("wait"), places, st.sampled_from([0.4, 4.0, 11.0, -3.0])),
    st.tuples(st.just("describe"), places, st.none()),
    st.tuples(st.just("batch"), places, st.integers(2, 9)),
    st.tuples(st.just("doubt"), places, st.integers(0, 2)),
)
asking = st.fixed_dictionaries(
    {
        "user": st.sampled_from("ab"),
        "node": st.sampled_from([None, "n1", "n2"]),
        "exclude": st.sampled_from([frozenset(), frozenset({"union/b0"})]),
        "expected_bytes": st.none() | st.sampled_from([1e6, 3e9]),
        "limit": st.sampled_from([0, 1, 3]),
    }
)


class Story:
    """One site through time, with its table and samples kept as long as the desk keeps them."""

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.now = whole.NOW
        self.whole.environment = replace(whole.environment, node_access={"n2": frozenset({"elsewhere"})})
        self.renew()

    def renew(self) -> None:
        self.whole._bind()
        self.seen = self.whole.view

    def view(self, *, told: bool) -> View:
        """What is known now; ``told``: with the ledger's word on what changes."""
        ledger = self.whole.ledger
        changes = ledger.changes if told else None
        return View(self.seen.table, self.seen.observations, ledger.counts, changes)

    def happen(self, what: str, place: int, value: Any) -> None:
        elements = self.whole.environment.elements
        element = elements[place % len(elements)]
        if what == "book":
            self.whole.ledger.book(self.whole.placement(element, at=self.now, size=value))
        elif what == "end":
            for one in [one for one in self.whole.ledger.records() if one.element.id == element.id][:1]:
                self.whole.ledger.end(one.placement_id, "closed", self.now, 7e9)
        elif what == "sample":
            self.whole.see(element.id, write=value)
            self.renew()
        elif what == "wait":
            self.now += value
        elif what == "describe":
            self.renew()
        elif what == "doubt":
            self.whole.ledger.counts.read_doubt[place % len(elements)] = value
            self.whole.ledger.changes.note(place % len(elements))


@given(
    sites,
    st.lists(requirements, min_size=1, max_size=3),
    st.lists(st.tuples(happenings, asking, places), max_size=14),
    st.sampled_from([Policies(), Policies(scarce_tiers=frozenset({"nvme"}), max_data_age=5.0)]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_decisions_with_and_without_what_was_kept_are_equal(
    site: Site, described: list[Any], needs: list[Any], events: list[Any], policies: Policies, told: bool
) -> None:
    story = Story(build(site, described))
    kept = Kept()
    for (what, place, value), asked, which in events:
        story.happen(what, place, value)
        subject = Subject(asked["user"], node=asked["node"])
        asked = {
            **{key: given for key, given in asked.items() if key not in ("user", "node")},
            "subject": subject,
        }
        question = site.question(*needs[which % len(needs)], **asked)
        view = story.view(told=told)
        plain = decide(question, view, story.now, policies)
        assert decide(question, view, story.now, policies, kept=kept) == plain
        if what == "batch":
            chosen, again = (
                dealt(question, view, story.now, policies, value, kept=each) for each in (None, kept)
            )
            assert chosen == again
            for one, *_ in chosen:
                story.whole.ledger.book(story.whole.placement(one.element, at=story.now))


def dealt(
    question: Any, view: View, now: float, policies: Policies, count: int, kept: Kept | None
) -> list[Any]:
    """What is dealt, without booking it."""
    found: list[Any] = []
    deal(question, view, now, policies, count, lambda *one: found.append(one), kept=kept)
    return found


def test_many_kinds_of_question_are_kept_and_none_is_mixed_up(site: Site) -> None:
    story = Story(site(*(site.element(f"b{n}", write=10 * n + 10) for n in range(12))).see_all(write=5))
    kept = Kept()
    for turn in range(300):
        question = site.question(site.write(turn % 45), site.free(turn % 7, hard=True), limit=3)
        story.happen("book", turn, None)
        view = story.view(told=True)
        assert decide(question, view, story.now, Policies(), kept=kept) == decide(
            question, view, story.now, Policies()
        )


@given(sites, st.lists(happenings, max_size=14))
@settings(max_examples=60, deadline=None)
def test_the_ledger_tells_every_row_that_changes(site: Site, described: list[Any], events: list[Any]) -> None:
    story = Story(build(site, described))
    ledger = story.whole.ledger

    def counted() -> list[Any]:
        return [getattr(ledger.counts, one.name).tolist() for one in fields(ledger.counts)]

    before, number = counted(), ledger.changes.number
    for what, place, value in events:
        if what == "doubt":
            continue
        story.happen(what, place, value)
        ledger.expire(story.now, 9)
        after = counted()
        told = ledger.changes.since(number)
        for one, other in zip(before, after, strict=True):
            differ = [row for row, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
            assert told is None or set(differ) <= set(told.tolist()), what
        assert ledger.changes.number != number or after == before, what
        before, number = after, ledger.changes.number
