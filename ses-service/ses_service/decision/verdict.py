"""Whether a file received what was required, and the likely cause where it did not.  Pure.

A rate lies between what is certain and what the program saw: what was written may be in the page cache only.
A requirement is met when the certain rate meets it, and missed when not even the program's rate is 80 % of
it; where both leave it open, nobody can say.
"""

from __future__ import annotations

from dataclasses import dataclass

from ses_service.decision.load_history import ElementLoad
from ses_service.ledger.achieved import Achieved, Cause, Doubt, FileVerdict, KindVerdict, Verdict
from ses_service.ledger.placement import Placement, Prediction
from ses_service.model.kinds import CURRENT_RATES, RATES, WRITE_RATES, Kind

NEARLY = 0.8
MOVING = 0.9  # of the time: the program did not wait elsewhere
_SLOW = 0.9  # of the described speed
_BUSY, _TIME_LEFT = 0.9, 0.7
_ITSELF, _MORE_STREAMS = 1.0, 0.5  # the first sample is from before the file was created


_SENTENCES = {
    Doubt.TOO_SMALL: "Too few bytes moved to measure a rate.",
    Doubt.TOO_SHORT: "It was open for too short a time to measure a rate.",
    Doubt.SHARED: "Several files of the program moved at the same time and cannot be distinguished.",
    Doubt.GAPS: "The agent did not look for a while.",
    Doubt.MAPPED: "It was used as memory (mmap), which shows no rate.",
}
_ORDER = (Verdict.CANNOT_SAY, Verdict.MET, Verdict.NEARLY, Verdict.MISSED)


@dataclass(frozen=True, slots=True)
class _Rate:
    """A rate as the program saw it, and what is certain of it; ``why`` where it is not known."""

    achieved: float | None
    at_least: float | None
    why: str = ""


def file_verdict_of(placement: Placement, load: ElementLoad | None) -> FileVerdict:
    """Return what came of a file that ended.  ``load`` is that of its element meanwhile, if anybody knows."""
    points = () if load is None else load.points
    if not placement.predicted:
        return FileVerdict(None, load=points)
    kinds = tuple(_judged(prediction, placement.achieved) for prediction in placement.predicted)
    worst = max(range(len(kinds)), key=lambda at: (_ORDER.index(kinds[at].verdict), _shortfall(kinds[at])))
    decided = kinds[worst]
    cause, why = None, decided.why
    if decided.verdict in (Verdict.NEARLY, Verdict.MISSED) and decided.kind in RATES and placement.achieved:
        cause, why = _cause(decided, placement.achieved, load)
    return FileVerdict(decided.verdict, kinds, worst, cause, why, points)


def prediction_error(file_verdict: FileVerdict, achieved: Achieved | None) -> float | None:
    """Return achieved over predicted of a current rate where that says something of the element.

    ``None`` where there is a doubt, or where the program waited: it moved data in less than 90 % of the
    time, or got all it required and may have wanted no more.
    """
    if achieved is None or achieved.doubts or file_verdict.verdict in (None, Verdict.CANNOT_SAY):
        return None
    for judged in file_verdict.kinds:
        if judged.kind not in CURRENT_RATES or not judged.predicted or judged.achieved is None:
            continue
        enough = judged.achieved >= judged.bound and judged.achieved <= judged.predicted
        if _moving(judged.kind, achieved) >= MOVING and not enough:
            return judged.achieved / judged.predicted
    return None


def _shortfall(verdict: KindVerdict) -> float:
    return (
        0.0
        if verdict.achieved is None or verdict.bound <= 0
        else max(0.0, 1.0 - verdict.achieved / verdict.bound)
    )


def _judged(asked: Prediction, achieved: Achieved | None) -> KindVerdict:
    kind, bound = asked.kind, asked.bound
    if kind == Kind.FREE_CAPACITY:
        rate = _Rate(
            asked.value, asked.value, "" if asked.value is not None else "Nobody knew what was free."
        )
    elif kind not in RATES:
        rate = _Rate(None, None, "This kind is not measured.")
    elif achieved is None:
        rate = _Rate(None, None, "The agent of its node did not follow it.")
    else:
        rate = _rate(kind, achieved)
    verdict = _verdict(bound, rate)
    why = rate.why
    if verdict is Verdict.CANNOT_SAY and not why:
        least = 0.0 if rate.at_least is None else rate.at_least
        why = (
            "What was written may still be in the memory of its node: it is certain of "
            f"{least / kind.size:.4g} {kind.unit} only that they reached the device."
        )
    return KindVerdict(kind, bound, asked.value, rate.achieved, rate.at_least, verdict, why)


def _rate(kind: Kind, achieved: Achieved) -> _Rate:
    for doubt in (Doubt.TOO_SMALL, Doubt.TOO_SHORT, Doubt.SHARED, Doubt.GAPS, Doubt.MAPPED):
        if doubt in achieved.doubts and _unsays(doubt, kind):
            return _Rate(None, None, _SENTENCES[doubt])
    written = kind in WRITE_RATES
    amount = achieved.bytes_written if written else achieved.bytes_read
    if amount <= 0:
        return _Rate(None, None, "Nothing was written." if written else "Nothing was read.")
    seconds = achieved.open_seconds
    if kind in CURRENT_RATES:
        seconds = achieved.writing_seconds if written else achieved.reading_seconds
    if seconds <= 0:
        return _Rate(None, None, _SENTENCES[Doubt.TOO_SHORT])
    if not written or Doubt.PAGE_CACHE not in achieved.doubts:
        return _Rate(amount / seconds, amount / seconds)
    certain = min(amount, achieved.bytes_on_device or 0.0)
    return _Rate(amount / seconds, certain / seconds)


def _unsays(doubt: Doubt, kind: Kind) -> bool:
    """Whether a doubt leaves nothing to say of a kind."""
    if doubt is Doubt.GAPS:
        return kind in CURRENT_RATES
    if doubt is Doubt.MAPPED:
        return kind != Kind.AVERAGE_WRITE_RATE
    return True


def _verdict(bound: float, rate: _Rate) -> Verdict:
    if bound <= 0:
        return Verdict.MET
    if rate.achieved is None or rate.at_least is None:
        return Verdict.CANNOT_SAY
    if rate.at_least >= bound:
        return Verdict.MET
    if rate.achieved < NEARLY * bound:
        return Verdict.MISSED
    return Verdict.NEARLY if rate.at_least >= NEARLY * bound else Verdict.CANNOT_SAY


def _moving(kind: Kind, achieved: Achieved) -> float:
    """Return in which part of the time its data moved."""
    seconds = achieved.writing_seconds if kind in WRITE_RATES else achieved.reading_seconds
    return min(1.0, seconds / achieved.open_seconds) if achieved.open_seconds > 0 else 0.0


def _cause(verdict: KindVerdict, achieved: Achieved, load: ElementLoad | None) -> tuple[Cause | None, str]:
    moving = _moving(verdict.kind, achieved)
    amount = achieved.bytes_written if verdict.kind in WRITE_RATES else achieved.bytes_read
    seconds = achieved.writing_seconds if verdict.kind in WRITE_RATES else achieved.reading_seconds
    if verdict.kind not in CURRENT_RATES and seconds > 0 and amount / seconds >= NEARLY * verdict.bound:
        return Cause.PROGRAM, (
            f"The program itself waited elsewhere: data moved in {moving:.0%} of the time, "
            f"at {_amount(verdict.kind, amount / seconds)}."
        )
    if load is not None and load.health < _SLOW:
        return Cause.SLOW_ELEMENT, (
            f"The element was slower than described: {load.health:.0%} of that at most while it was busy."
        )
    foreseen = verdict.predicted is not None and verdict.predicted < verdict.bound
    if foreseen and verdict.predicted is not None and (verdict.achieved or 0.0) >= NEARLY * verdict.predicted:
        return Cause.FORESEEN, (
            f"No more was to be had: {_amount(verdict.kind, verdict.predicted)} were predicted "
            "when it was created."
        )
    if load is not None and load.most > load.first + _ITSELF + _MORE_STREAMS:
        return Cause.OTHERS, (
            f"Others came: {load.first:.0f} streams were on the element before it, "
            f"and {load.most - _ITSELF:.0f} beside it later."
        )
    if load is None or load.busy is None:
        return None, "Nobody saw how busy the element was meanwhile."
    if load.busy >= _BUSY:
        return Cause.OTHERS, (
            f"Others used the element: it was busy {load.busy:.0%} of the time, beside the files placed here."
        )
    if load.busy < _TIME_LEFT:
        return Cause.CLIENT_OR_NETWORK, (
            f"The element had time left (busy {load.busy:.0%}): the program, its node or the network was the "
            "limit."
        )
    return None, f"The element was busy {load.busy:.0%} of the time; that does not say why."


def _amount(kind: Kind, value: float) -> str:
    return f"{value / kind.size:.4g} {kind.unit}"
