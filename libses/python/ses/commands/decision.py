"""The parts of a decision as tables; ``rank`` and ``explain`` both show them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from ses_client.messages.requirements import ResolvedRequirement
from ses_client.messages.selections import Candidate, Prediction, Refusal

from ses.columns import Column
from ses.output import line, number, seconds, table
from ses.quantities import written


def show_requirements(out: Console, requirements: Sequence[ResolvedRequirement], title: str) -> None:
    """Print requirements with the level each came from."""
    if not requirements:
        line(out, f"{title}: none. The fastest free element is chosen.")
        return
    line(out, f"{title}:")
    for one in requirements:
        line(out, f"  {written(one)}  ({origin(one)})")


def origin(one: ResolvedRequirement) -> str:
    """Return the level a requirement came from, with its name."""
    if one.level in (None, "explicit"):
        return f"{one.level or '?'}{f', profile {one.profile}' if one.profile else ''}"
    profile = f", profile {one.profile}" if one.profile else ""
    return f"{one.level} {one.level_name}{profile}"


def show_candidates(out: Console, candidates: Sequence[Candidate]) -> None:
    """Print the ranking, best first."""
    table(
        out,
        _HEADERS,
        [
            [
                str(one.rank),
                one.element,
                f"{one.distance:.3f}",
                number(one.available.read_mb_s),
                number(one.available.write_mb_s),
                number(one.free_gb, 2),
                "; ".join(filter(None, (shortfalls(one.predicted), one.after))) or "nothing",
                seconds(one.age_seconds),
                one.basis,
            ]
            for one in candidates
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
            [[one.element, one.reason, one.detail] for one in refused],
        )


def shortfalls(predicted: Sequence[Prediction]) -> str:
    """Return in words which bounds are missed, and by what; empty when none is."""
    missed = []
    for one in predicted:
        if one.shortfall:
            digits = 2 if one.kind == "free-capacity" else 1
            value = "unknown" if one.value is None else f"{one.value:.{digits}f} {one.unit}"
            missed.append(f"{one.kind} {value}, needs {number(one.bound, digits)}")
    return "; ".join(missed)
