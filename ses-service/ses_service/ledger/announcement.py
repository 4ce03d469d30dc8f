"""What the agent of a node reports of many files at once, and how the ledger takes it.

Pure: the ledger, the elements and the time are passed in.  Taking the same announcement again changes
nothing, so that an agent that got no answer can repeat it.  What there is of each file is never changed, but
not frozen: Python takes five times as long to make a frozen one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ses_service.ledger.achieved import Achieved
from ses_service.ledger.exclusions import Exclusion
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.node_decisions import NO_DECISIONS, NodeDecisions, predictions
from ses_service.ledger.pace import Use, pace_for, report_within, return_within
from ses_service.ledger.placement import EndReason, Placement, PlacementState
from ses_service.ledger.readers import Reading
from ses_service.ledger.reports import LedgerError, Origin, PlacementEndedError, PlacementReport
from ses_service.model.columns import ElementTable
from ses_service.model.entities import Subject, with_home_vo

Subjects: TypeAlias = dict[tuple[str | None, str | None, str | None], Subject]

MIN_SILENCE = 30.0
SILENT_PACES = 3.0
MAX_SYSTEMS = 16  # of which a node says what it excludes; those named last are kept


@dataclass(slots=True)
class Ended:
    """A placement that is over."""

    placement_id: str
    reason: EndReason
    bytes_written: float | None = None
    path: str | None = None
    achieved: Achieved | None = None


@dataclass(frozen=True, slots=True)
class Announcement:
    """One announcement.  ``complete``: ``opened`` is all that is open on the node.

    ``reading`` is all that is read there, ``None``: as it was reported before.  ``version`` is the agent's.
    ``number`` grows with each that an incarnation makes, to whichever service; 0: it does not count them.
    ``refused``: ids of files that it reports and that cannot be taken, with the reason.
    ``stalled``: threads of the agent that have not gone on, for how many seconds.
    ``excluded``: by storage system, all its elements to which no file of the node, or of a user, can go.
    """

    node: str
    incarnation: str
    opened: tuple[PlacementReport, ...] = ()
    ended: tuple[Ended, ...] = ()
    complete: bool = False
    use: Use = Use.NONE
    decisions: NodeDecisions = NO_DECISIONS
    reading: tuple[Reading, ...] | None = None
    version: str = ""
    number: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    stalled: Mapping[str, float] = field(default_factory=dict)
    excluded: Mapping[str, Sequence[Exclusion]] = field(default_factory=dict)

    @property
    def files(self) -> int:
        """How many files it is about."""
        return len(self.opened) + len(self.ended)


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


def parts_of(announcement: Announcement, files: int) -> Iterator[Announcement]:
    """Yield the announcement in parts of ``files`` files, for :func:`take` one after the other.

    None is complete: the caller ends what is not among all that is open when the last is taken.
    """
    part = replace(announcement, opened=(), ended=(), complete=False)
    later = replace(part, reading=None, refused=())
    for start in range(0, len(announcement.opened), files):
        yield replace(part, opened=announcement.opened[start : start + files])
        part = later
    for start in range(0, len(announcement.ended), files):
        yield replace(part, ended=announcement.ended[start : start + files])
        part = later


def merged(taken: Sequence[Taken]) -> Taken:
    """Return what came of all parts of an announcement."""
    first = taken[0]
    return Taken(
        first.pace,
        first.report_within,
        first.return_within,
        tuple(placement_id for part in taken for placement_id in part.unknown),
        tuple(refusal for part in taken for refusal in part.refused),
        next((part.open for part in taken if part.open is not None), None),
    )


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
        excluded = {**node.excluded, **announcement.excluded}
        node.excluded = dict([*excluded.items()][-MAX_SYSTEMS:])
    doubted = ledger.take_doubted(announcement.node)
    held = tuple(ledger.open_on(announcement.node) if first else doubted) or (() if first else None)
    unknown, refused = _take_opened(announcement, ledger, table, now)
    refused += announcement.refused
    ledger.bounds.refusals.invalid += len(announcement.refused)
    for end in announcement.ended:
        placement = ledger.find(end.placement_id)
        if placement is None:
            unknown.append(end.placement_id)
        elif placement.subject.node not in (None, announcement.node):
            refused.append((end.placement_id, "The placement is another node's."))
        else:
            ledger.end(end.placement_id, end.reason, now, end.bytes_written, end.path, end.achieved)
    if announcement.reading is not None:
        ledger.readers.take(announcement.node, announcement.reading, now)
    if announcement.complete:
        end_others(announcement, ledger, now)
    in_use = ledger.nodes.in_use
    asking = in_use if announcement.use is Use.NOW else len(ledger.nodes)
    pace = pace_for(announcement.use, asking)
    back = return_within(len(ledger.nodes))
    return Taken(pace, report_within(in_use), back, tuple(unknown), tuple(refused), held)


def _take_opened(
    announcement: Announcement, ledger: Ledger, table: ElementTable | None, now: float
) -> tuple[list[str], list[tuple[str, str]]]:
    """Take what was opened; return the ids that are unknown, and those that are refused with the reason."""
    unknown: list[str] = []
    refused: list[tuple[str, str]] = []
    subjects: Subjects = {}
    node = ledger.nodes.get(announcement.node)
    excluded = node.excluded_for if node is not None else lambda _: {}
    for report in announcement.opened:
        placement_id = report.placement_id
        try:
            known = ledger.find(placement_id)
            if known is None and (report.origin is None or table is None):
                unknown.append(placement_id)
                continue
            if known is None or known.state is PlacementState.ENDED:
                user = report.user or ""
                if why := ledger.bounds.refuses(announcement.node, user, now):
                    refused.append((placement_id, why))
                    continue
            report = _of_its_job(report, known, announcement.node, ledger)
            if known is None:
                assert report.origin is not None
                assert table is not None
                subject = _subject_of(report, announcement.node, table.environment.home_vo, subjects)
                ledger.restore(_restored(report, report.origin, subject, announcement, table, excluded, now))
                if report.in_batch is None and ledger.inherited is not None:
                    ledger.inherited.add(placement_id)
                if report.bytes is None:
                    continue
            ledger.open(report, now, node=announcement.node)
        except PlacementEndedError:
            # Reported late: the end is known already.  Of a place the node goes on to look at it.
            if known is not None and known.held is not None:
                refused.append((placement_id, "The place was released."))
        except LedgerError as error:
            refused.append((placement_id, f"{error}."))
    return unknown, refused


def _of_its_job(
    report: PlacementReport, known: Placement | None, node: str, ledger: Ledger
) -> PlacementReport:
    """Return the report without a job that is another user's on the node: it counts for none."""
    user = known.subject.user if known else report.user or ""
    if report.job is None or not ledger.bounds.is_anothers(node, user, report.job):
        return report
    why = f"job {report.job}, which the node named, is another user's there"
    origin = report.origin and replace(report.origin, notes=(*report.origin.notes, why))
    return replace(report, job=None, origin=origin)


def end_others(announcement: Announcement, ledger: Ledger, now: float) -> None:
    """End what is open on the node and not in a complete announcement."""
    kept = {report.placement_id for report in announcement.opened}
    kept.update(placement_id for placement_id, _ in announcement.refused)
    ledger.end_others(announcement.node, kept, now)


def _subject_of(report: PlacementReport, node: str, home_vo: Mapping[str, str], known: Subjects) -> Subject:
    """Return whose file it is; files of one program share it."""
    key = report.user, report.application, report.job
    subject = known.get(key)
    if subject is None:
        stated = Subject(report.user or "", report.application, None, node, report.job)
        subject = known[key] = with_home_vo(stated, home_vo)
    return subject


def _restored(
    report: PlacementReport,
    origin: Origin,
    subject: Subject,
    announcement: Announcement,
    table: ElementTable,
    excluded: Callable[[str | None], Mapping[str, str]],
    now: float,
) -> Placement:
    rows = [table.index.get(name) for name in origin.elements]
    if None in rows or not rows:
        missing = [name for name in origin.elements if name not in table.index]
        raise LedgerError(f"the site describes no element {', '.join(missing) or 'of no name'}")
    stripes = tuple(table.elements[row] for row in rows if row is not None)
    system = table.environment.systems.get(stripes[0].storage_system)
    placed_at = min(now, origin.placed_at)
    placement = Placement(
        placement_id=report.placement_id,
        subject=subject,
        element=stripes[0],
        backend=system.backend if system else "",
        distance=origin.distance,
        placed_at=placed_at,
        lease_until=math.inf,  # as long as the node reports
        notes=origin.notes,
        stripes=stripes if len(stripes) > 1 else (),
        stripe_count=len(stripes),
        decided_by=origin.decided_by,
        expected_bytes=origin.expected_bytes,
        state=PlacementState.OPEN,
        path=report.path,
        device=report.device,
        inode=report.inode,
        pid=report.pid,
        opened_at=max(placed_at, min(now, report.opened_at or now)),
        idle=bool(report.idle),
    )
    in_batch = report.in_batch
    decision = None if in_batch is None else announcement.decisions.find(in_batch.decision)
    if in_batch is None or decision is None:
        return placement
    why = announcement.decisions.explained(
        in_batch.decision, announcement.node, table, excluded(subject.user)
    )
    placement.requirements, placement.candidates, placement.refused = (
        why.requirements,
        why.candidates,
        why.refused,
    )
    placement.notes = (*origin.notes, *why.notes)
    placement.predicted = predictions(why.requirements, in_batch.predicted, placement.element)
    placement.batch_number, placement.batch_size = in_batch.batch_number, in_batch.batch_size
    placement.rank = why.ranks.get(placement.element.id, len(why.ranks) + 1)
    placement.expected_from = decision.expected_from
    return placement
