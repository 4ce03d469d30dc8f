"""Whether a placement is that of a file: what speaks for it, and what against.

A placed file is born after its placement was made and before it was reported to the service that it was
opened.  The modification time says nothing (writes and ``rsync -t`` set it), a path still in use
says nothing (``log`` renamed to ``log.1`` leaves room for the next ``log``), and neither does the
end of a placement (a file lives on after it).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from ses_client.messages.selections import Placement

from ses.identity import FileIdentity

CLOCKS_SECONDS = 2.0
"""How far the clocks of node and service may be apart before a birth contradicts a placement."""

_ON_THE_WAY_SECONDS = 0.5
"""How late the service may count a placement: its report brings an age, which does not grow on its way."""


class Match(Enum):
    """How a placement goes with a file."""

    SAME = auto()
    DOUBTFUL = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Comparison:
    """``why`` is a clause without a full stop, empty when there is no doubt."""

    match: Match
    why: str = ""


def judge(placement: Placement, path: Path, file: FileIdentity | None) -> Comparison:
    """Compare a placement, found by the numbers or by the name, with the file that is at ``path``."""
    if file is None:
        return Comparison(Match.SAME)
    placed, opened = placement.placed_at, placement.opened_at
    if placed is not None and file.changed < placed - CLOCKS_SECONDS:
        return Comparison(Match.OTHER, "the file is older than the placement")
    if file.born is None or file.latest_birth is None or placed is None or opened is None:
        return _without_birth(placement, path, file)
    early, late = placed - file.latest_birth, file.born - opened
    if max(early, late) > CLOCKS_SECONDS:
        when = f"{early:.0f} s before it was placed" if early > 0 else f"{late:.0f} s after it was opened"
        return Comparison(Match.OTHER, f"the file was born {when}")
    if early > _ON_THE_WAY_SECONDS or late > 0:
        when = f"{early:.1f} s before it was placed" if early > 0 else f"{late:.1f} s after it was opened"
        return Comparison(Match.DOUBTFUL, f"the file was born {when}, which only clocks apart would explain")
    return Comparison(Match.SAME)


def _without_birth(placement: Placement, path: Path, file: FileIdentity) -> Comparison:
    same_name = placement.path == str(path)
    if placement.device is None or placement.inode is None:
        return Comparison(Match.SAME)
    if (placement.device, placement.inode) == (file.device, str(file.inode)):
        if same_name:
            return Comparison(Match.SAME)
        return Comparison(
            Match.DOUBTFUL,
            "only the inode number agrees, which a file that is gone may have had before: the file "
            "system does not say when this one was born",
        )
    if placement.device == file.device:
        return Comparison(
            Match.DOUBTFUL,
            "the file of that name has another inode number than the one placed: it was replaced, or moved "
            "to another branch",
        )
    return Comparison(
        Match.DOUBTFUL,
        "the file system was mounted again since, so the numbers do not show whether it is the file placed",
    )
