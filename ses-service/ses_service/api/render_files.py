"""Files, their verdicts and sums of them, in the shapes of the contract."""

from __future__ import annotations

from collections.abc import Iterable

from ses_client.messages import files

from ses_service.api.render import MB, PLACES, in_units
from ses_service.decision.report import Report, Sum
from ses_service.ledger.achieved import KindVerdict, Verdict
from ses_service.ledger.files import Detail, File
from ses_service.model.kinds import Kind


def file(one: File) -> files.File:
    """Return a file without its details."""
    kind = _kind(one.kind)
    size = 1.0 if kind is None else kind.size
    return files.File(
        placement_id=one.placement_id,
        state="open" if one.ended_at is None else "ended",
        user=one.user,
        application=one.application,
        vo=one.vo,
        job=one.job,
        node=one.node,
        element=one.element,
        path=one.path,
        opened_at=one.opened_at,
        ended_at=one.ended_at,
        end_reason=one.end_reason,
        bytes_written=one.bytes_written,
        bytes_read=one.bytes_read,
        write_mb_s=in_units(one.write_rate, MB),
        read_mb_s=in_units(one.read_rate, MB),
        verdict=None if one.verdict is None else one.verdict.value,
        cause=None if one.cause is None else one.cause.value,
        kind=None if kind is None else kind.value,
        unit=None if kind is None else kind.unit,
        required=in_units(one.bound, size),
        predicted=in_units(one.predicted, size),
        achieved=in_units(one.achieved, size),
    )


def file_record(one: File, detail: Detail) -> files.Received:
    """Return all that is known of a file."""
    seen, judged = detail.achieved, detail.file_verdict
    return files.Received(
        **file(one),
        why="" if judged is None else judged.why,
        kinds=[] if judged is None else [_judged(kind) for kind in judged.kinds],
        doubts=[] if seen is None else [doubt.value for doubt in seen.doubts],
        writing_seconds=None if seen is None else seen.writing_seconds,
        reading_seconds=None if seen is None else seen.reading_seconds,
        open_seconds=None if seen is None else seen.open_seconds,
        bytes_on_device=None if seen is None else seen.bytes_on_device,
        samples=[] if seen is None else [list(point) for point in seen.samples],
        load=[] if judged is None else [list(point) for point in judged.load],
    )


def report(one: Report, *, complete: bool) -> files.Report:
    """Return sums of files."""
    return files.Report(
        complete=complete,
        total=_sum(one.total),
        elements=_sums(one.elements),
        applications=_sums(one.applications),
        jobs=_sums(one.jobs),
        users=_sums(one.users),
        vos=_sums(one.vos),
        hours=_sums(one.hours),
        kinds=[_sum(kind).but(name=kind.name.partition(" ")[0]) for kind in one.kinds],
        causes=[files.Cause(cause=cause.value, files=count) for cause, count in one.causes.items()],
        advice=one.advice,
    )


def _judged(one: KindVerdict) -> files.ReceivedKind:
    size = one.kind.size
    return files.ReceivedKind(
        kind=one.kind.value,
        unit=one.kind.unit,
        required=round(one.bound / size, PLACES),
        predicted=in_units(one.predicted, size),
        achieved=in_units(one.achieved, size),
        at_least=in_units(one.at_least, size),
        verdict=one.verdict.value,
        why=one.why,
    )


def _sums(many: Iterable[Sum]) -> list[files.Sum]:
    return [_sum(one) for one in many]


def _sum(one: Sum) -> files.Sum:
    verdicts = one.verdicts
    return files.Sum(
        name=one.name,
        files=one.files,
        met=verdicts[Verdict.MET],
        nearly=verdicts[Verdict.NEARLY],
        missed=verdicts[Verdict.MISSED],
        cannot_say=verdicts[Verdict.CANNOT_SAY],
        met_ratio=None if one.met_ratio is None else round(one.met_ratio, PLACES),
        shortfall=round(one.shortfall, PLACES),
        forecast_files=one.forecast_files,
        of_forecast=None if one.of_forecast is None else round(one.of_forecast, PLACES),
    )


def _kind(record: str | None) -> Kind | None:
    try:
        return None if record is None else Kind.of_record(record)
    except ValueError:
        return None
