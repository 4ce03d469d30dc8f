"""The result of a demonstration, as data, as JSON, and as text.  Pure: asks nobody anything."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from ses_client.messages.files import ReceivedKind
from ses_client.messages.requirements import Requirement
from ses_client.messages.selections import PlacementRecord, Prediction

from ses.commands.decision import origin
from ses.demo.programs import Run
from ses.demo.verify import Verdict
from ses.files import words
from ses.output import line, table


@dataclass(frozen=True, slots=True)
class Row:
    """One program, with and without the library.  Rates MB/s, times seconds, sizes bytes.

    ``got`` is what the file received of what was required, as the service judged it.
    ``chosen`` and ``verified_on`` are branches; ``chosen`` is ``None`` when the file was not placed.
    ``as_chosen``: the bytes are on the chosen branch; ``as_decided``: no other was nearer to what is needed.
    """

    program: str
    user: str
    file: str
    size: int
    requirements: tuple[str, ...]
    levels: tuple[str, ...]
    chosen: str | None
    predicted: tuple[str, ...]
    distance: float | None
    got: tuple[str, ...]
    passed_over: str
    verified_on: str | None
    as_chosen: bool
    as_decided: bool
    measured: bool
    seconds: float
    rate: float
    plain_on: str | None
    plain_seconds: float
    plain_rate: float
    placement_id: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is shown at the end.  ``throttled``: branches have the speeds the site describes.

    ``rows`` are of programs that ran one after the other, ``together`` of those that ran at the same time.
    ``hints`` help to find out why a file is not where it should be.
    """

    conditions: tuple[str, ...]
    throttled: bool
    busy: tuple[str, ...]
    policy: str
    rows: tuple[Row, ...]
    together: tuple[Row, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def pages(self) -> tuple[tuple[str, str], ...]:
        """Each file that was placed, and the path of its page in the portal."""
        return tuple(
            (f"{row.user}: {row.file}", f"/files/{row.placement_id}")
            for row in (*self.rows, *self.together)
            if row.placement_id is not None
        )

    @property
    def seconds(self) -> float:
        """Total time of the programs under the library."""
        return sum(row.seconds for row in self.rows)

    @property
    def plain_seconds(self) -> float:
        """Total time of the same programs without it."""
        return sum(row.plain_seconds for row in self.rows)

    @property
    def ratio(self) -> float:
        """How many times longer the programs take without the library."""
        return self.plain_seconds / self.seconds

    @property
    def verified(self) -> bool:
        """True when no file is misplaced."""
        return bool(self.rows) and not self.misplaced

    @property
    def misplaced(self) -> tuple[Row, ...]:
        """The files that are not on the element chosen for them, or where another was nearer to the need.

        Programs that run together are not judged by the need: each choice changes what the next one finds.
        """
        alone = [row for row in self.rows if not (row.as_chosen and row.as_decided)]
        return (*alone, *(row for row in self.together if not row.as_chosen))

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "conditions": list(self.conditions),
            "throttled": self.throttled,
            "busy": list(self.busy),
            "policy": self.policy,
            "programs": [asdict(row) for row in self.rows],
            "together": [asdict(row) for row in self.together],
            "seconds": self.seconds,
            "plain_seconds": self.plain_seconds,
            "ratio": self.ratio,
            "verified": self.verified,
        }


def make_row(placed: Run, verdict: Verdict, verified_on: str | None, plain: Run, plain_on: str | None) -> Row:
    """Put together what is known of one program.  ``…_on`` are short names of branches."""
    placement = verdict.placement
    return Row(
        program=placed.program.title,
        user=placed.program.user,
        file=placed.program.file,
        size=placed.size,
        requirements=tuple(map(_asked, placement.requirements)) if placement else (),
        levels=tuple(dict.fromkeys(map(origin, placement.requirements))) if placement else (),
        chosen=_short(placement.element) if placement else None,
        predicted=tuple(map(_predicted, placement.predicted)) if placement else (),
        distance=placement.distance if placement else None,
        got=tuple(map(_received, verdict.got)),
        passed_over=passed_over(placement) if placement else "",
        verified_on=verified_on,
        as_chosen=verdict.as_chosen,
        as_decided=verdict.as_decided,
        measured=placed.program.measured,
        seconds=placed.seconds,
        rate=placed.rate,
        plain_on=plain_on,
        plain_seconds=plain.seconds,
        plain_rate=plain.rate,
        placement_id=placement.placement_id if placement else None,
    )


def passed_over(placement: PlacementRecord) -> str:
    """Return the element not chosen that says most, and why it was not.

    That is the first one refused; else the best one that falls short; else the next in rank.
    """
    for refusal in placement.refused:
        return f"{_short(refusal.element)}: {refusal.detail or refusal.reason}"
    others = [candidate for candidate in placement.candidates if candidate.element != placement.element]
    for candidate in others:
        missed = [f"{_predicted(item)}" for item in candidate.predicted if item.shortfall]
        if missed and candidate.distance > placement.distance:
            name, missing = _short(candidate.element), " and ".join(missed)
            return f"{name}: only {missing}, distance {candidate.distance:.2f}"
    for candidate in others:
        rate = candidate.available.write_mb_s or 0
        return f"{_short(candidate.element)}: rank {candidate.rank}, would write {rate:.0f} MB/s"
    return ""


def show(out: Console, report: Report) -> None:
    """Print the report with its conditions and totals."""
    line(out)
    for text in report.conditions:
        line(out, text)
    for row in report.rows:
        line(out)
        for text in _block(row, report.busy):
            line(out, text)
    line(out)
    for text in _legend(report):
        line(out, text)
    if report.together:
        line(out)
        _show_together(out, report)
    if report.misplaced:
        for row in report.misplaced:
            what = "another element was nearer to the need" if row.as_chosen else "NOT on the chosen element"
            line(out, f"{row.program} ({row.user}, {row.file}): {what}.", "red")
        for text in report.hints:
            line(out, text)
    else:
        line(out, "Every file is on the element chosen for it.", "green")
        line(out, "For no program that ran alone was another element nearer to the need.", "green")


def _show_together(out: Console, report: Report) -> None:
    users = len({row.user for row in report.together})
    line(out, f"{len(report.together)} programs of {users} users at the same time:")
    table(
        out,
        ("program", "asked", "promised", "got", "bytes on", ">MB/s"),
        [_cells_together(row, report.busy) for row in report.together],
    )
    rows = report.together
    line(
        out,
        f"The last ended after {max(row.seconds for row in rows):.1f} s, on "
        f"{len({row.verified_on for row in rows})} branches; without the library after "
        f"{max(row.plain_seconds for row in rows):.1f} s, on {len({row.plain_on for row in rows})}.",
    )


def _cells_together(row: Row, busy: tuple[str, ...]) -> list[str]:
    return [
        f"{row.program}\n{row.user}: {row.file}",
        "\n".join(row.requirements) or "nothing",
        "\n".join(row.predicted) or "-",
        "\n".join(row.got) or "-",
        _where(row, busy),
        f"{row.rate:.0f}",
    ]


def _where(row: Row, busy: tuple[str, ...]) -> str:
    return f"{_marked(row.verified_on, busy)}{'' if row.as_chosen else ' WRONG'}"


def _legend(report: Report) -> list[str]:
    total = f"Total time: {report.seconds:.1f} s with the library, {report.plain_seconds:.1f} s without: "
    if report.throttled:
        total += f"{report.ratio:.1f} times as long. One run each; your times will differ."
    else:
        total += "all branches are equally fast here, so this says nothing about placement."
    return [
        f"* {', '.join(report.busy)}: kept busy by somebody else's writers all the time.",
        "chosen: with what was predicted there; passed over: the element not chosen that says most.",
        "got: what the agent saw the file receive; cannot say: too short, or maybe in memory only.",
        "written: from the start of the program to its last byte on the device.",
        f"without the library: mergerfs chose by its policy {report.policy}.",
        total,
    ]


def _block(row: Row, busy: tuple[str, ...]) -> list[str]:
    """Return what is known of one program, a line for each thing."""
    needed = f" ({', '.join(row.levels)})" if row.levels else ""
    chosen = "not placed"
    if row.chosen is not None:
        predicted = ", ".join(row.predicted) or "nothing asked"
        chosen = f"{_marked(row.chosen, busy)}: {predicted}, distance {row.distance or 0:.2f}"
    on, plain_on = _where(row, busy), _marked(row.plain_on, busy)
    written = f"to {on}; without the library to {plain_on}"
    if row.measured:
        written = f"{row.rate:.0f} MB/s on {on}; without the library {row.plain_rate:.0f} MB/s on {plain_on}"
    facts = {
        "needs at least": f"{', '.join(row.requirements) or 'nothing'}{needed}",
        "chosen": chosen,
        "passed over": row.passed_over or "-",
        "got": ", ".join(row.got) or "-",
        "written": written,
    }
    return [
        f"{row.program} ({row.user}, {row.file})",
        *(f"  {name:14}  {fact}" for name, fact in facts.items()),
    ]


def _marked(branch: str | None, busy: tuple[str, ...]) -> str:
    return "?" if branch is None else f"{branch}*" if branch in busy else branch


def _asked(requirement: Requirement) -> str:
    hard = ", hard" if requirement.strictness == "hard" else ""
    return f"{_kind(requirement.kind)} {requirement.bound:g} {requirement.unit}{hard}"


def _predicted(prediction: Prediction) -> str:
    return f"{_kind(prediction.kind)} {_value(prediction.value, prediction.kind)} {prediction.unit}"


def _received(received: ReceivedKind) -> str:
    achieved, kind = received.achieved, received.kind
    known = "" if achieved is None else f" {_value(achieved, kind)} {received.unit}"
    return f"{_kind(kind)}{known}: {words(received.verdict)}"


def _value(value: float | None, kind: str) -> str:
    return "unknown" if value is None else f"{value:.{2 if kind == 'free-capacity' else 0}f}"


def _kind(kind: str) -> str:
    return kind.removesuffix("-rate").removesuffix("-capacity").replace("-", " ")


def _short(element: str) -> str:
    return element.rpartition("/")[2]
