"""What became of a file: where the bytes are by the union itself, and what the service decided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ses.answers import Placement, parse
from ses.basepath import basepath, same_directory
from ses.demo.interrupts import Interrupts
from ses.service import ServiceClient

_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """``branch``: directory that holds the bytes.  ``placement``: the service's record, if any."""

    branch: str | None
    placement: Placement | None

    @property
    def as_chosen(self) -> bool:
        """True when the bytes are on the element the service chose."""
        if self.branch is None or self.placement is None or not self.placement.target:
            return False
        return same_directory(self.branch, self.placement.target)


def verify(path: Path, client: ServiceClient, interrupts: Interrupts) -> Verdict:
    """Look where a file lies and why.  The record may follow the file by a moment: waits for it."""
    placement_id = None
    for _ in range(int(_PATIENCE_SECONDS / 0.1)):
        answer = client.placements(path=str(path), limit=1)
        found = parse(
            "placements", lambda data: [str(one["placement_id"]) for one in data["placements"]], answer
        )
        if found:
            placement_id = found[0]
            break
        interrupts.pause(0.1)
    placement = None
    if placement_id is not None:
        placement = parse("the placement", Placement.of, client.placement(placement_id))
    return Verdict(basepath(path), placement)
