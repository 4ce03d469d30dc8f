"""One request for places, booked a part at a time, so that others may decide in between.

As long as nobody else books the parts come from one deck, ranked once.  When others do, or a sample comes in
between, the rest is ranked again and knows of it.  What ends in between is not looked at: it makes no place
worse than it was dealt for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ses_service.beside import LARGEST_BATCH, Beside
from ses_service.ledger import Ledger
from ses_service.placement import Choice, Placement
from ses_service.policies import Policies
from ses_service.question import HISTORY, Decision, Question, View
from ses_service.selection import Deck, deck
from ses_service.standing import Kept

MOST_AT_ONCE = 16
MOST_AHEAD = 64  # places laid out at once; the more, the more is done in vain when something happens


@dataclass(slots=True)
class Batch:
    """``count`` places for one question, each with a lease of so many seconds.

    ``sized`` is the question with the size to expect, and ``source`` where that size is from.  A size out
    of the history is a guess: if it fits nowhere, the question is decided without it.
    """

    question: Question
    sized: Question
    source: str | None
    count: int
    lease: float
    ahead: bool
    new_id: Callable[[], str]
    placed: list[Placement] = field(default_factory=list)
    _decision: Decision | None = None
    _deck: Deck | None = None
    _left: int = 0
    _known: tuple[object, ...] = ()

    @property
    def decision(self) -> Decision:
        """What was decided before the first booking; not before the first part is booked."""
        assert self._decision is not None
        return replace(self._decision, expected_bytes=self.sized.expected_bytes, expected_from=self.source)

    def book(
        self, view: View, ledger: Ledger, now: float, policies: Policies, kept: Kept, beside: Beside | None
    ) -> bool:
        """Book the next part in the ledger whose counts ``view`` holds; return whether more follow.

        The first part of a large batch is its first deck, from which nothing is booked yet.
        """
        whole = self.count
        if self._deck is None and whole > MOST_AT_ONCE:
            self._lay_out(view, now, policies, kept, beside)
            self._known = _known(view, ledger)
            return True
        for _ in range(min(MOST_AT_ONCE, whole - len(self.placed))):
            if not self._left or self._known != _known(view, ledger):
                self._lay_out(view, now, policies, kept, beside)
            assert self._deck is not None
            chosen = next(self._deck.choices, None)
            if chosen is None and self.source == HISTORY and not self.placed:
                self.sized, self.source, self._decision = self.question, None, None
                self._lay_out(view, now, policies, kept, beside)
                chosen = next(self._deck.choices, None)
            if chosen is None:
                return False
            placement = self._placement(chosen, self._deck, view, now)
            ledger.book(placement)
            self.placed.append(placement)
            self._left -= 1
            self._known = _known(view, ledger)
        return len(self.placed) < whole

    def _lay_out(self, view: View, now: float, policies: Policies, kept: Kept, beside: Beside | None) -> None:
        before = len(self.placed)
        if self.count > LARGEST_BATCH:
            beside = None
        self._left = min(MOST_AHEAD, self.count - before)
        self._deck = deck(
            self.sized,
            view,
            now,
            policies,
            self._left,
            kept=kept,
            beside=beside,
            stripes=self._decision.stripes if self._decision is not None else None,
            files=self.count,
        )
        if self._decision is None:
            self._decision = self._deck.decision

    def _placement(self, chosen: Choice, dealt_from: Deck, view: View, now: float) -> Placement:
        system = view.table.environment.systems.get(chosen.element.storage_system)
        return Placement(
            placement_id=self.new_id(),
            subject=self.question.subject,
            element=chosen.element,
            backend=system.backend if system else "",
            distance=chosen.distance,
            booked_at=now,
            lease_until=now + self.lease,
            predicted=chosen.predicted,
            requirements=self.question.requirements,
            candidates=dealt_from.shown,
            refused=dealt_from.decision.refused,
            rank=chosen.rank,
            turn=len(self.placed) + 1,
            turns=self.count,
            notes=chosen.notes,
            stripes=chosen.stripes,
            stripe_count=len(chosen.stripes),
            ahead=self.ahead,
            expected_bytes=self.sized.expected_bytes,
            expected_from=self.source,
        )


def _known(view: View, ledger: Ledger) -> tuple[object, ...]:
    """Return what is the same as long as a deck holds good."""
    return ledger.version, view.table, view.observations
