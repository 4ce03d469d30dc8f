"""Files as people ask for them: where each went, what it received, and whether that was enough.  Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ses_service.ledger.achieved import Achieved, Cause, FileVerdict, Verdict
from ses_service.ledger.placement import Placement
from ses_service.model.kinds import CURRENT_RATES


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which files are asked for; ``None``: any.  ``path`` is a part of it, times are those of the end.

    ``after``: only those that come after this one in the order of answers (end and id, the latest first).
    """

    user: str | None = None
    application: str | None = None
    vo: str | None = None
    job: str | None = None
    element: str | None = None
    node: str | None = None
    verdict: Verdict | None = None
    path: str | None = None
    since: float | None = None
    until: float | None = None
    after: tuple[float, str] | None = None


@dataclass(slots=True)
class File:
    """One file; ``ended_at`` ``None``: it is open.  Rates are bytes per second while data moved.

    Not frozen, as all that is made for every file.

    ``kind``, ``bound``, ``predicted`` and ``achieved`` are those of the kind that decided the verdict.
    """

    placement_id: str
    user: str
    application: str | None
    vo: str | None
    job: str | None
    node: str | None
    element: str
    path: str | None
    opened_at: float
    ended_at: float | None = None
    end_reason: str | None = None
    bytes_written: float | None = None
    bytes_read: float | None = None
    write_rate: float | None = None
    read_rate: float | None = None
    verdict: Verdict | None = None
    cause: Cause | None = None
    kind: str | None = None
    bound: float | None = None
    predicted: float | None = None
    achieved: float | None = None


@dataclass(frozen=True, slots=True)
class Detail:
    """All that is known of one file: what its agent saw, and how each kind was judged."""

    achieved: Achieved | None = None
    file_verdict: FileVerdict | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some files, the latest end first; ``next`` is what to go on after, ``None``: that was all."""

    files: tuple[File, ...]
    next: tuple[float, str] | None


def file_of(placement: Placement) -> File:
    """Return a placement as a file."""
    subject, achieved, judged = placement.subject, placement.achieved, placement.file_verdict
    stated: tuple[str | None, float | None, float | None, float | None] = (None, None, None, None)
    if judged is not None and judged.worst is not None:
        worst = judged.kinds[judged.worst]
        stated = worst.kind.record, worst.bound, worst.predicted, worst.achieved
    elif placement.predicted:
        first = placement.predicted[0]
        stated = first.kind.record, first.bound, first.value, None
    return File(
        placement.placement_id,
        subject.user,
        subject.application,
        subject.vo,
        subject.job,
        subject.node,
        placement.element.id,
        placement.path,
        placement.placed_at if placement.opened_at is None else placement.opened_at,
        placement.ended_at,
        None if placement.end_reason is None else placement.end_reason.value,
        placement.bytes_written if achieved is None else achieved.bytes_written,
        None if achieved is None else achieved.bytes_read,
        None if achieved is None else rate(achieved.bytes_written, achieved.writing_seconds),
        None if achieved is None else rate(achieved.bytes_read, achieved.reading_seconds),
        None if judged is None else judged.verdict,
        None if judged is None else judged.cause,
        *stated,
    )


def rate(amount: float, seconds: float) -> float | None:
    """Return bytes per second, ``None`` where nothing moved."""
    return amount / seconds if seconds > 0 and amount > 0 else None


def accepts(wanted: Wanted) -> Callable[[File], bool]:
    """Return a test of whether a file is among those asked for."""
    exact = {
        name: value
        for name in ("user", "application", "vo", "job", "element", "node", "verdict")
        if (value := getattr(wanted, name)) is not None
    }

    def accept(file: File) -> bool:
        end = file.ended_at
        return (
            all(getattr(file, name) == value for name, value in exact.items())
            and (wanted.path is None or wanted.path in (file.path or ""))
            and (wanted.since is None or end is None or end >= wanted.since)
            and (wanted.until is None or end is None or end < wanted.until)
            and (wanted.after is None or end is None or (end, file.placement_id) < wanted.after)
        )

    return accept


class By(StrEnum):
    """What files can be summed up by; an hour is named by its beginning, in seconds since the epoch."""

    ELEMENT = "element"
    HOUR = "hour"
    APPLICATION = "application"
    JOB = "job"
    USER = "user"
    VO = "vo"
    KIND = "kind"


@dataclass(frozen=True, slots=True)
class Group:
    """Files that have something in common, a verdict and a likely cause.

    ``shortfall`` is the sum of the parts of their requirements that they missed, 0 to 1 each;
    ``of_forecast`` that of :func:`of_forecast` of ``forecast_files`` of them.
    """

    by: By
    name: str
    verdict: Verdict | None
    cause: Cause | None
    files: int
    shortfall: float
    forecast_files: int = 0
    of_forecast: float = 0.0


def of_forecast(file: File) -> float | None:
    """Return achieved over predicted where that says something of the forecast.

    ``None`` for other kinds than current rates, where nobody can say, where the program waited, and where it
    got all it required and may have wanted no more.
    """
    if file.kind not in CURRENT_RATES or file.verdict in (None, Verdict.CANNOT_SAY):
        return None
    if not file.predicted or file.achieved is None or file.bound is None:
        return None
    enough = file.bound <= file.achieved <= file.predicted
    return None if enough or file.cause is Cause.PROGRAM else file.achieved / file.predicted
