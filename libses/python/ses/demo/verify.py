"""What became of a file: where the bytes are by the union itself, and what the service decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ses_client.client import ServiceClient
from ses_client.messages.files import ReceivedKind
from ses_client.messages.selections import PlacementRecord

from ses.basepath import basepath, same_directory
from ses.demo.interrupts import Interrupts
from ses.demo.programs import Run

EQUAL_DISTANCE = 0.02  # what the rule takes for equal (docs/decision.md)
_PATIENCE_SECONDS = 3.0
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Verdict:
    """``branch``: directory that holds the bytes.  ``placement``: the service's record, if any.

    ``got``: what the file received of each kind that was required.
    """

    branch: str | None
    placement: PlacementRecord | None
    got: Sequence[ReceivedKind] = ()

    @property
    def as_chosen(self) -> bool:
        """True when the bytes are on the element the service chose."""
        if self.branch is None or self.placement is None or not self.placement.target:
            return False
        return same_directory(self.branch, self.placement.target)

    @property
    def as_decided(self) -> bool:
        """True when the element is as near to what is needed as the first candidate of the decision.

        Elements that are equally near are equally right.  A refused element is no candidate.
        """
        if self.placement is None or not self.placement.candidates:
            return False
        nearest = min(self.placement.candidates, key=lambda candidate: candidate.rank).distance
        near_enough = (
            candidate.element
            for candidate in self.placement.candidates
            if candidate.distance <= nearest + EQUAL_DISTANCE
        )
        return self.placement.element in near_enough


def verify(run: Run, client: ServiceClient, interrupts: Interrupts) -> Verdict:
    """Look where the file of a run lies and why.  The record may follow the file by a moment: waits.

    A program that ends at once may be gone before the agent has read the name of its file; its
    placement is then known by user, program and time.
    """
    placement_id = None
    for _ in range(int(_PATIENCE_SECONDS / _PAUSE_SECONDS)):
        placement_id = _by_path(run, client)
        if placement_id is not None:
            break
        interrupts.pause(_PAUSE_SECONDS)
    placement_id = placement_id or _by_program(run, client)
    placement = None
    if placement_id is not None:
        placement = client.placement(placement_id)
    got = () if placement_id is None else _got(placement_id, client, interrupts)
    return Verdict(basepath(run.path), placement, got)


def _got(placement_id: str, client: ServiceClient, interrupts: Interrupts) -> Sequence[ReceivedKind]:
    """Return what a file received.  It is judged a moment after it was closed: waits."""
    kinds: Sequence[ReceivedKind] = ()
    for _ in range(int(_PATIENCE_SECONDS / _PAUSE_SECONDS)):
        received = client.file(placement_id)
        kinds = received.kinds
        if received.state == "ended" and (kinds or not received.required):
            break
        interrupts.pause(_PAUSE_SECONDS)
    return kinds


def _by_path(run: Run, client: ServiceClient) -> str | None:
    placements = client.placements(path=str(run.path), limit=1)
    return placements[0].placement_id if placements else None


def _by_program(run: Run, client: ServiceClient) -> str | None:
    name = Path(run.program.commands(str(run.path))[0][0]).name
    for placement in client.placements(user=run.program.user, limit=200):
        at = placement.placed_at
        during = at is not None and run.started_at <= at <= run.started_at + run.seconds
        unnamed = placement.path is None and placement.application == name
        if unnamed and during and placement.end_reason != "unused":
            return placement.placement_id
    return None
