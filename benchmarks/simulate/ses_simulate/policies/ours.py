"""The selection service's own decision and ledger, fed by the simulated monitor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ses_service.columns import observation_table, read_parts
from ses_service.health import learned
from ses_service.ledger import Ledger
from ses_service.model import Subject
from ses_service.placement import Candidate, EndReason, Placement, Refusal
from ses_service.question import Question, View
from ses_service.selection import deal, decide
from ses_service.standing import Kept

from ses_simulate.monitor import Sample
from ses_simulate.policies.interface import File, Policy, World
from ses_simulate.site import observations, policies_for, requirements, table_of

FOREVER = float("inf")
WORTH_KEEPING = 64  # elements from which it pays to keep what a decision worked out for the next one


class Ours(Policy):
    """One service that decides for all: ``decide`` or ``deal``, and a ledger of what it placed.

    Sees what the service sees: the description, samples as old as they are, its own placements and
    their ends.  Leases never run out here: every end is seen.
    """

    def __init__(self, world: World) -> None:
        self.policies = policies_for(world.sampling)
        self._table = table_of(world.devices)
        self._requirements = requirements(world.reads, world.writes)
        self._ledger = Ledger(self.policies)
        self._kept = Kept() if len(world.devices) >= WORTH_KEEPING else None
        self._observations = observation_table(self._table, ())
        self._ledger.bind(self._table, self._observations.sampled_at, 0.0)

    def question(self, file: File) -> Question:
        """Return what the service is asked for a file.  Its size is not told."""
        return Question(Subject(file.user), self._requirements, limit=1, seed=file.number)

    def view(self) -> View:
        """Return what the service knows now."""
        return View(self._table, self._observations, self._ledger.counts)

    def choose(self, now: float, file: File) -> int:
        """Ask ``decide`` and book its first candidate."""
        self._ledger.expire(now)
        decision = decide(self.question(file), self.view(), now, self.policies, kept=self._kept)
        return self._book(now, file, decision.candidates[0])

    def deal(self, now: float, files: Sequence[File]) -> Iterator[int]:
        """Ask ``deal`` for all files of one moment at once, as an agent asks for tickets."""
        self._ledger.expire(now)
        chosen: list[int] = []

        def book(candidate: Candidate, _first: tuple[Candidate, ...], _refused: tuple[Refusal, ...]) -> None:
            chosen.append(self._book(now, files[len(chosen)], candidate))

        deal(self.question(files[0]), self.view(), now, self.policies, len(files), book, kept=self._kept)
        return iter(chosen)

    def observe(self, now: float, sample: Sample) -> None:
        """Hand the sample to the service as its observer would."""
        seen = observation_table(self._table, observations(self._table, sample))
        self._observations = learned(seen, self._observations, self.policies)
        reference = self._observations.sampled_at - self.policies.rate_window / 2
        self._ledger.observe(reference, now, read_parts(self._observations))

    def closed(self, now: float, file: File, element: int) -> None:
        """End the placement."""
        self._ledger.end(str(file.number), EndReason.CLOSED, now, file.size)

    def _book(self, now: float, file: File, candidate: Candidate) -> int:
        element = candidate.element
        self._ledger.book(
            Placement(
                placement_id=str(file.number),
                subject=Subject(file.user),
                element=element,
                backend="mergerfs",
                distance=candidate.distance,
                booked_at=now,
                lease_until=FOREVER,
            )
        )
        return self._table.index[element.id]
