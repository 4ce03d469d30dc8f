"""Files, their verdicts and sums of them, in the shapes of the contract."""

from ses_client.messages import files
from ses_client.messages.message import JSON

from ses_service.api.render import MB, PLACES, in_units
from ses_service.decision.report import Report, Sum
from ses_service.ledger.achieved import KindVerdict, Verdict
from ses_service.ledger.files import Detail, File
from ses_service.model.kinds import Kind


def file(file: File) -> files.File:
    """Return a file without its details."""
    kind = _kind(file.kind)
    size = 1.0 if kind is None else kind.size
    return files.File.like(
        file,
        state="open" if file.ended_at is None else "ended",
        write_mb_s=in_units(file.write_rate, MB),
        read_mb_s=in_units(file.read_rate, MB),
        kind=kind,
        unit=None if kind is None else kind.unit,
        required=in_units(file.bound, size),
        predicted=in_units(file.predicted, size),
        achieved=in_units(file.achieved, size),
    )


def file_record(record: File, detail: Detail) -> files.Received:
    """Return all that is known of a file."""
    seen, judged = detail.achieved, detail.file_verdict
    return files.Received(
        **file(record),
        why="" if judged is None else judged.why,
        kinds=[] if judged is None else [_judged(kind) for kind in judged.kinds],
        doubts=() if seen is None else seen.doubts,
        writing_seconds=None if seen is None else seen.writing_seconds,
        reading_seconds=None if seen is None else seen.reading_seconds,
        open_seconds=None if seen is None else seen.open_seconds,
        bytes_on_device=None if seen is None else seen.bytes_on_device,
        samples=() if seen is None else seen.samples,
        load=() if judged is None else judged.load,
    )


def report(report: Report, *, complete: bool) -> files.Report:
    """Return sums of files."""
    sums: JSON = {f"{by}s": [_sum(total) for total in totals] for by, totals in report.sums.items()}
    sums["kinds"] = [kind.but(name=kind.name.partition(" ")[0]) for kind in sums["kinds"]]
    return files.Report(
        **sums,
        complete=complete,
        total=_sum(report.total),
        causes=[files.Cause(cause=cause, files=count) for cause, count in report.causes.items()],
        advice=report.advice,
    )


def _judged(verdict: KindVerdict) -> files.ReceivedKind:
    size = verdict.kind.size
    return files.ReceivedKind.like(
        verdict,
        unit=verdict.kind.unit,
        required=round(verdict.bound / size, PLACES),
        predicted=in_units(verdict.predicted, size),
        achieved=in_units(verdict.achieved, size),
        at_least=in_units(verdict.at_least, size),
    )


def _sum(total: Sum) -> files.Sum:
    verdicts = total.verdicts
    return files.Sum.like(
        total,
        met=verdicts[Verdict.MET],
        nearly=verdicts[Verdict.NEARLY],
        missed=verdicts[Verdict.MISSED],
        cannot_say=verdicts[Verdict.CANNOT_SAY],
        met_ratio=None if total.met_ratio is None else round(total.met_ratio, PLACES),
        shortfall=round(total.shortfall, PLACES),
        of_forecast=None if total.of_forecast is None else round(total.of_forecast, PLACES),
    )


def _kind(record: str | None) -> Kind | None:
    try:
        return None if record is None else Kind.of_record(record)
    except ValueError:
        return None
