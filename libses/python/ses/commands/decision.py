"""The parts of a decision as tables; ``rank`` and ``explain`` both show them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from ses_client.messages.files import File
from ses_client.messages.requirements import ResolvedRequirement, Subject
from ses_client.messages.selections import Candidate, PlacementRecord, Prediction, Refusal

from ses.columns import Column
from ses.output import line, number, seconds, table
from ses.quantities import written


def show_requirements(out: Console, requirements: Sequence[ResolvedRequirement], title: str) -> None:
    """Print requirements with the level each came from."""
    if not requirements:
        line(out, f"{title}: none. The fastest free element is chosen.")
        return
    line(out, f"{title}:")
    for requirement in requirements:
        line(out, f"  {written(requirement)}  ({origin(requirement)})")


def called(who: Subject | PlacementRecord | File) -> str:
    """Return a user, with the application where one is named."""
    return who.user + (f":{who.application}" if who.application else "")


def origin(requirement: ResolvedRequirement) -> str:
    """Return the level a requirement came from, with its name."""
    profile = f", profile {requirement.profile}" if requirement.profile else ""
    if requirement.level in (None, "explicit"):
        return f"{requirement.level or '?'}{profile}"
    return f"{requirement.level} {requirement.level_name}{profile}"


def show_candidates(out: Console, candidates: Sequence[Candidate]) -> None:
    """Print the ranking, best first."""
    table(
        out,
        _HEADERS,
        [
            [
                str(candidate.rank),
                candidate.element,
                f"{candidate.distance:.3f}",
                number(candidate.available.read_mb_s),
                number(candidate.available.write_mb_s),
                number(candidate.free_gb, 2),
                "; ".join(filter(None, (shortfalls(candidate.predicted), candidate.after))) or "nothing",
                seconds(candidate.age_seconds),
                candidate.basis,
            ]
            for candidate in candidates
        ],
    )


_HEADERS = (
    Column("rank", right=True),
    Column("element"),
    Column("distance", right=True),
    Column("would read", right=True, leaves=1),
    Column("would write", right=True),
    Column("free GB", right=True, leaves=2),
    Column("falls short, or why not before", wraps=True),
    Column("data age", right=True, leaves=3),
    Column("judged by", leaves=4),
)


def show_refused(out: Console, refused: Sequence[Refusal]) -> None:
    """Print the refused elements with their reasons; nothing when there are none."""
    if refused:
        table(
            out,
            ("refused", "reason", "detail"),
            [[refusal.element, refusal.reason, refusal.detail] for refusal in refused],
        )


def shortfalls(predicted: Sequence[Prediction]) -> str:
    """Return in words which bounds are missed, and by what; empty when none is."""
    missed = []
    for prediction in predicted:
        if prediction.shortfall:
            digits = 2 if prediction.kind == "free-capacity" else 1
            known = prediction.value
            value = "unknown" if known is None else f"{known:.{digits}f} {prediction.unit}"
            missed.append(f"{prediction.kind} {value}, needs {number(prediction.bound, digits)}")
    return "; ".join(missed)
