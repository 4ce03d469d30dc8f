"""One request for places, booked a part at a time, so that others may decide in between.

A part is dealt from a ranking of its own: it knows the parts before it, and whatever others booked
meanwhile.  Where nothing happened meanwhile the parts choose what the whole would have chosen at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ses_service.beside import LARGEST_BATCH, Beside
from ses_service.ledger import Ledger
from ses_service.placement import Candidate, Choice, Placement, Refusal
from ses_service.policies import Policies
from ses_service.question import HISTORY, Decision, Question, View
from ses_service.selection import deal
from ses_service.standing import Kept

MOST_AT_ONCE = 32


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

    @property
    def decision(self) -> Decision:
        """What was decided before the first booking; not before the first part is booked."""
        assert self._decision is not None
        return replace(self._decision, expected_bytes=self.sized.expected_bytes, expected_from=self.source)

    def book(
        self, view: View, ledger: Ledger, now: float, policies: Policies, kept: Kept, beside: Beside | None
    ) -> bool:
        """Book the next part in the ledger whose counts ``view`` holds; return whether more follow."""
        before = len(self.placed)
        part = min(MOST_AT_ONCE, self.count - before)
        decision = self._deal(part, view, ledger, now, policies, kept, beside)
        if self.source == HISTORY and not self.placed:
            self.sized, self.source = self.question, None
            decision = self._deal(part, view, ledger, now, policies, kept, beside)
        if self._decision is None:
            self._decision = decision
        return len(self.placed) - before == part and len(self.placed) < self.count

    def _deal(
        self,
        part: int,
        view: View,
        ledger: Ledger,
        now: float,
        policies: Policies,
        kept: Kept,
        beside: Beside | None,
    ) -> Decision:
        before = len(self.placed)

        def book(chosen: Choice, first: tuple[Candidate, ...], refused: tuple[Refusal, ...]) -> None:
            placement = self._placement(chosen, first, refused, view, now)
            ledger.book(placement)
            self.placed.append(placement)

        if beside is not None:
            beside = replace(beside, before=before) if self.count <= LARGEST_BATCH else None
        return deal(
            self.sized,
            view,
            now,
            policies,
            part,
            book,
            kept=kept,
            beside=beside,
            stripes=self._decision.stripes if self._decision and before else None,
            files=self.count,
        )

    def _placement(
        self,
        chosen: Choice,
        first: tuple[Candidate, ...],
        refused: tuple[Refusal, ...],
        view: View,
        now: float,
    ) -> Placement:
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
            candidates=first,
            refused=refused,
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
