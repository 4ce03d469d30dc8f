"""The part of the selection service inside the process that knows files.

A file is a placement and, where ``got`` has it, what it received.  Sums are by element, application and job
as in the real service; it does NOT give advice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ses_webface.files_model import FileFilter, FilePage, FileRow, Received, Report, Sum
from ses_webface.selection_model import Placement

_EXACT = ("user", "application", "vo", "job", "element", "state", "verdict")


class FilesInMemory:
    """``got`` is what files received, by placement; ``jobs`` names the job of each that has one."""

    records: list[Placement]

    def __init__(self) -> None:
        self.got: dict[str, Received] = {}
        self.jobs: dict[str, str] = {}
        super().__init__()

    def _called(self, acting: str) -> None:
        raise NotImplementedError

    def received(self, placement_id: str, *, acting: str) -> Received | None:
        """See SelectionService."""
        self._called(acting)
        return self.got.get(placement_id)

    def files(self, wanted: FileFilter, *, after: str | None, limit: int, acting: str) -> FilePage:
        """See SelectionService."""
        self._called(acting)
        found = self._find(wanted)
        start = int(after or 0)
        end = start + limit
        return FilePage(tuple(found[start:end]), str(end) if len(found) > end else None)

    def report(self, wanted: FileFilter, *, acting: str) -> Report:
        """See SelectionService."""
        self._called(acting)
        found = [one for one in self._find(wanted) if one.ended_at is not None]
        causes = {one.cause: 0 for one in found if one.cause}
        for one in found:
            if one.cause:
                causes[one.cause] += 1
        jobs, applications, elements = (_sums(found, name) for name in ("job", "application", "element"))
        return Report(True, _sum("all", found), jobs, applications, elements, tuple(causes.items()), ())

    def _find(self, wanted: FileFilter) -> list[FileRow]:
        asked = [(name, value) for name in _EXACT if (value := getattr(wanted, name)) is not None]
        found = [
            one
            for one in map(self._row, self.records)
            if one.path is not None
            and all(getattr(one, name) == value for name, value in asked)
            and (wanted.path or "") in one.path
            and (one.ended_at is None or (wanted.since or 0.0) <= one.ended_at < (wanted.until or 1e12))
        ]
        return sorted(found, key=lambda one: -(one.ended_at or 1e12))

    def _row(self, record: Placement) -> FileRow:
        job = self.jobs.get(record.id)
        if record.id in self.got:
            return replace(self.got[record.id].file, job=job)
        return FileRow(
            record.id, record.state, record.subject.user, record.application, record.subject.vo, job, None,
            record.element, record.path, record.opened_at, record.ended_at, record.end_reason,
            record.bytes_written, *[None] * 10,
        )  # fmt: skip


def _sums(files: list[FileRow], by: str) -> tuple[Sum, ...]:
    names = sorted({getattr(one, by) or "" for one in files})
    found = [_sum(name, [one for one in files if (getattr(one, by) or "") == name]) for name in names]
    return tuple(sorted(found, key=lambda one: (-one.shortfall * one.files, one.name)))


def _sum(name: str, files: Iterable[FileRow]) -> Sum:
    verdicts = [one.verdict for one in files]
    missing = [
        max(0.0, 1.0 - one.achieved / one.required)
        for one in files
        if one.verdict in ("nearly", "missed") and one.achieved is not None and one.required
    ]
    met, nearly, missed = (verdicts.count(verdict) for verdict in ("met", "nearly", "missed"))
    judged = met + nearly + missed
    return Sum(
        name, len(verdicts), met, nearly, missed, verdicts.count("cannot-say"),
        met / judged if judged else None, sum(missing) / judged if judged else 0.0,
    )  # fmt: skip
