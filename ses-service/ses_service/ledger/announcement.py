"""What the agent of a node reports of many files at once, and how the ledger takes it.

Pure: the ledger, the elements and the time are passed in.  Taking the same announcement again changes
nothing, so that an agent that got no answer can repeat it.  What it says of files is read and taken in native
code (``libses/state/ledger.h``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ses_state import _state

from ses_service.ledger.exclusions import Exclusion
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.node_decisions import NO_DECISIONS, NodeDecisions
from ses_service.ledger.pace import Use, pace_for, report_within, return_within
from ses_service.ledger.placement import Placement
from ses_service.ledger.readers import Reading
from ses_service.model.columns import ElementTable

MIN_SILENCE = 30.0
SILENT_PACES = 3.0
MAX_SYSTEMS = 16  # of which a node says what it excludes; those named last are kept


@dataclass(frozen=True, slots=True)
class Announcement:
    """One announcement.  ``complete``: what opened is all that is open on the node.

    ``reading`` is all that is read there, ``None``: as it was reported before.  ``version`` is the agent's.
    ``number`` grows with each that an incarnation makes, to whichever service; 0: it does not count them.
    ``refused``: ids of files that it reports and that cannot be taken, with the reason.
    ``stalled``: threads of the agent that have not gone on, for how many seconds.
    ``excluded``: by storage system, all its elements to which no file of the node, or of a user, can go.
    """

    node: str
    incarnation: str
    files: _state.Files = field(default_factory=_state.Files)
    complete: bool = False
    use: Use = Use.NONE
    decisions: NodeDecisions = NO_DECISIONS
    reading: tuple[Reading, ...] | None = None
    version: str = ""
    number: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    stalled: Mapping[str, float] = field(default_factory=dict)
    excluded: Mapping[str, Sequence[Exclusion]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of an announcement.

    ``pace``: seconds within which the next sign of life is expected; ``report_within``: seconds between two
    reports of files; ``return_within``: seconds over which nodes that lost the service are to come back.
    ``unknown``: opened, but the ledger does not know it and no origin was given.  ``refused``: id and reason.
    ``open``: what the agent is to compare with what is open: all that the ledger held open for the node
    before an incarnation of its agent that did not report before, and later what it took over from another
    service.
    """

    pace: float
    report_within: float
    return_within: float
    unknown: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    open: tuple[Placement, ...] | None


def silence_for(pace: float) -> float:
    """Return after how many seconds without an announcement a node counts as gone."""
    return max(MIN_SILENCE, SILENT_PACES * pace)


def take(announcement: Announcement, ledger: Ledger, table: ElementTable | None, now: float) -> Taken:
    """Bring the ledger to what the node reports.

    Ends are taken after all reports of files.  ``table`` may be ``None`` as long as the site is not known:
    placements the ledger does not know stay unknown then, and the agent reports them again.
    """
    silent = now + silence_for(pace_for(Use.NONE, len(ledger.nodes) + 1))
    first = ledger.renew_node(
        announcement.node,
        announcement.incarnation,
        now,
        silent,
        in_use=announcement.use is Use.NOW,
        version=announcement.version,
        number=announcement.number,
    )
    if (node := ledger.nodes.get(announcement.node)) is not None:
        node.stalled = {thread: now - seconds for thread, seconds in announcement.stalled.items()}
        if announcement.excluded:
            excluded = {**node.excluded, **announcement.excluded}
            node.excluded = dict([*excluded.items()][-MAX_SYSTEMS:])
    doubted = ledger.take_doubted(announcement.node)
    held = tuple(ledger.open_on(announcement.node) if first else doubted) or (() if first else None)
    user_excludes = node.excluded_for if node is not None else lambda _user: {}
    unknown, refused = ledger.take(
        announcement.files,
        announcement.node,
        now,
        lambda decision, user: announcement.decisions.shared(
            decision, announcement.node, table, user_excludes(user)
        ),
    )
    refused += announcement.refused
    ledger.bounds.note_invalid(len(announcement.refused))
    if announcement.reading is not None:
        ledger.readers.take(announcement.node, announcement.reading, now)
    if announcement.complete:
        _end_others(announcement, ledger, now)
    in_use = ledger.nodes.in_use
    asking = in_use if announcement.use is Use.NOW else len(ledger.nodes)
    pace = pace_for(announcement.use, asking)
    back = return_within(len(ledger.nodes))
    return Taken(pace, report_within(in_use), back, tuple(unknown), tuple(refused), held)


def _end_others(announcement: Announcement, ledger: Ledger, now: float) -> None:
    """End what is open on the node and not in a complete announcement."""
    kept = announcement.files.opened_ids
    kept.update(placement_id for placement_id, _ in announcement.refused)
    ledger.end_others(announcement.node, kept, now)
