"""The part of the selection service inside the process that knows files.

A file is a placement and, where ``got`` has it, what it received.  Sums are by element, application and job
as in the real service; it does NOT give advice.
"""

from collections.abc import Mapping
from typing import Any

from ses_client.errors import NotFoundError, RefusedError
from ses_client.messages.files import Cause, File, FilePage, Received, Report, Sum
from ses_client.messages.selections import PlacementRecord

_EXACT = ("user", "application", "vo", "job", "element", "state", "verdict")


class FilesInMemory:
    """``got`` is what files received, by placement; ``jobs`` names the job of each that has one."""

    records: list[PlacementRecord]

    def __init__(self) -> None:
        self.got: dict[str, Received] = {}
        self.jobs: dict[str, str] = {}
        super().__init__()

    def file(self, placement_id: str) -> Received:
        self._called()
        if placement_id not in self.got:
            raise NotFoundError(f"There is no file {placement_id}.")
        return self.got[placement_id]

    def files(self, wanted: Mapping[str, object], *, after: str | None = None, limit: int = 50) -> FilePage:
        self._called()
        matches = self._find(wanted)
        if after and not (after.isascii() and after.isdecimal() and len(after) < 10):
            raise RefusedError("That is no place in the list of files.", 422)
        start = int(after or 0)
        end = start + limit
        return FilePage(files=tuple(matches[start:end]), next=str(end) if len(matches) > end else None)

    def report(self, wanted: Mapping[str, object]) -> Report:
        self._called()
        ended = [file for file in self._find(wanted) if file.ended_at is not None]
        causes = {file.cause: 0 for file in ended if file.cause}
        for file in ended:
            if file.cause:
                causes[file.cause] += 1
        jobs, applications, elements = (_sums(ended, name) for name in ("job", "application", "element"))
        return Report(
            complete=True,
            total=_sum("all", ended),
            elements=elements,
            applications=applications,
            jobs=jobs,
            causes=[Cause(cause=cause, files=number) for cause, number in tuple(causes.items())],
        )

    def _find(self, wanted: Mapping[str, Any]) -> list[File]:
        asked = [(name, value) for name in _EXACT if (value := wanted.get(name)) is not None]
        since, until = wanted.get("since") or 0.0, wanted.get("until") or 1e12
        those = [
            file
            for file in map(self._row, self.records)
            if file.path is not None
            and all(getattr(file, name) == value for name, value in asked)
            and (wanted.get("path") or "") in file.path
            and (file.ended_at is None or since <= file.ended_at < until)
        ]
        return sorted(those, key=lambda file: -(file.ended_at or 1e12))

    def _row(self, record: PlacementRecord) -> File:
        job = self.jobs.get(record.placement_id)
        if record.placement_id in self.got:
            return self.got[record.placement_id].but(job=job)
        return File(
            placement_id=record.placement_id,
            state=record.state,
            user=record.user,
            application=record.application,
            vo=record.subject.vo,
            job=job,
            node=None,
            element=record.element,
            path=record.path,
            opened_at=record.opened_at,
            ended_at=record.ended_at,
            end_reason=record.end_reason,
            bytes_written=record.bytes_written,
        )


def _sums(files: list[File], by: str) -> tuple[Sum, ...]:
    names = sorted({getattr(file, by) or "" for file in files})
    sums = [_sum(name, [file for file in files if (getattr(file, by) or "") == name]) for name in names]
    return tuple(sorted(sums, key=lambda total: (-total.shortfall * total.files, total.name)))


def _sum(name: str, files: list[File]) -> Sum:
    verdicts = [file.verdict for file in files]
    missing = [
        max(0.0, 1.0 - file.achieved / file.required)
        for file in files
        if file.verdict in ("nearly", "missed") and file.achieved is not None and file.required
    ]
    met, nearly, missed = (verdicts.count(verdict) for verdict in ("met", "nearly", "missed"))
    judged = met + nearly + missed
    parts = [file.achieved / file.predicted for file in files if file.verdict in ("nearly", "missed")
             and file.achieved is not None and file.predicted]  # fmt: skip
    return Sum(
        name=name,
        files=len(verdicts),
        met=met,
        nearly=nearly,
        missed=missed,
        cannot_say=verdicts.count("cannot-say"),
        met_ratio=met / judged if judged else None,
        shortfall=sum(missing) / judged if judged else 0.0,
        forecast_files=len(parts),
        of_forecast=sum(parts) / len(parts) if parts else None,
    )
