"""A report of the service, and the page that shows it: one file with its pictures, without scripts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ses.files import CAUSES

_COLOURS = (("met", "#1a7f37"), ("nearly", "#9a6700"), ("missed", "#cf222e"), ("cannot say", "#8c959f"))
_WIDTH, _HEIGHT, _MARGIN = 900, 180, 30


@dataclass(frozen=True, slots=True)
class Sum:
    """Files under one name; ``shortfall`` is the mean part that was missed, 0 to 1."""

    name: str
    files: int
    met: int
    nearly: int
    missed: int
    cannot_say: int
    met_ratio: float | None
    shortfall: float

    @classmethod
    def of(cls, data: Any) -> Sum:
        """Make one from JSON."""
        ratio = data["met_ratio"]
        return cls(
            name=str(data["name"]) or "-",
            files=int(data["files"]),
            met=int(data["met"]),
            nearly=int(data["nearly"]),
            missed=int(data["missed"]),
            cannot_say=int(data["cannot_say"]),
            met_ratio=None if ratio is None else float(ratio),
            shortfall=float(data["shortfall"]),
        )

    @property
    def judged(self) -> int:
        """How many of them can be judged."""
        return self.met + self.nearly + self.missed

    @property
    def hour(self) -> str:
        """The name as an hour, in local time."""
        return time.strftime("%Y-%m-%d %H:00", time.localtime(float(self.name)))


@dataclass(frozen=True, slots=True)
class Report:
    """Sums of files, and the likely causes of misses with how many files have each."""

    complete: bool
    total: Sum
    elements: tuple[Sum, ...]
    applications: tuple[Sum, ...]
    jobs: tuple[Sum, ...]
    hours: tuple[Sum, ...]
    causes: tuple[tuple[str, int], ...]
    advice: tuple[str, ...]

    @classmethod
    def of(cls, data: Any) -> Report:
        """Make one from JSON."""
        return cls(
            bool(data["complete"]),
            Sum.of(data["total"]),
            tuple(map(Sum.of, data["elements"])),
            tuple(map(Sum.of, data["applications"])),
            tuple(map(Sum.of, data.get("jobs", ()))),
            tuple(map(Sum.of, data["hours"])),
            tuple((str(one["cause"]), int(one["files"])) for one in data["causes"]),
            tuple(map(str, data["advice"])),
        )


def page(report: Report, about: str, now: float) -> str:
    """Return the report as an HTML page; ``about`` says whose files these are."""
    total = report.total
    ratio = "none can be judged" if total.met_ratio is None else f"{total.met_ratio:.0%} of those judged"
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
    less = "" if report.complete else "<p>Only the latest files were looked at.</p>"
    causes = "".join(
        f"<li>{escape(CAUSES.get(name, name))}: {count} files</li>" for name, count in report.causes
    )
    advice = "".join(f"<li>{escape(text)}</li>" for text in report.advice)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>QStorMan: what files received</title>
<style>body{{font:16px sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1f2328}}
table{{border-collapse:collapse}}td,th{{padding:.2rem .8rem;text-align:right;border-bottom:1px solid #d0d7de}}
td:first-child,th:first-child{{text-align:left}}</style></head><body>
<h1>Did files receive what was required?</h1>
<p>{escape(about)}; as of {moment}. Met: {total.met} of {total.files} files ({ratio}).</p>{less}
<h2>By hour</h2>{_hours(report.hours)}
<h2>By application, worst first</h2>{_rows("application", report.applications)}
<h2>By job, worst first</h2>{_rows("job", report.jobs)}
<h2>By element, worst first</h2>{_rows("element", report.elements)}
<h2>Likely causes</h2><ul>{causes or "<li>no file missed what was required</li>"}</ul>
<h2>What may help</h2><ul>{advice or "<li>nothing is needed</li>"}</ul>
<p>Met: all that was required; nearly: at least 80 % of it. Cannot say: the rate is not certain, for instance
because what was written was still in the memory of the node when the file was closed.</p>
</body></html>
"""


def _rows(title: str, sums: Sequence[Sum]) -> str:
    heads = (title, "files", "met", "nearly", "missed", "cannot say", "short by")
    rows = "".join(
        f"<tr><td>{escape(one.name)}</td><td>{one.files}</td><td>{one.met}</td><td>{one.nearly}</td>"
        f"<td>{one.missed}</td><td>{one.cannot_say}</td><td>{one.shortfall:.0%}</td></tr>"
        for one in sums
    )
    return f"<table><tr>{''.join(f'<th scope=col>{one}</th>' for one in heads)}</tr>{rows}</table>"


def _hours(sums: Sequence[Sum]) -> str:
    """Return a picture with one bar an hour, made of its verdicts."""
    if not sums:
        return "<p>No file ended.</p>"
    most = max(one.files for one in sums) or 1
    wide = (_WIDTH - 2 * _MARGIN) / len(sums)
    bars = []
    for place, one in enumerate(sums):
        below = float(_HEIGHT - _MARGIN)
        counts = (one.met, one.nearly, one.missed, one.cannot_say)
        for (_, colour), count in zip(_COLOURS, counts, strict=True):
            high = count / most * (_HEIGHT - 2 * _MARGIN)
            below -= high
            x = _MARGIN + place * wide
            bars.append(
                f'<rect x="{x:.1f}" y="{below:.1f}" width="{max(1.0, wide - 1):.1f}" height="{high:.1f}" '
                f'fill="{colour}"><title>{one.hour}: {count}</title></rect>'
            )
    legend = "".join(
        f'<rect x="{_MARGIN + 130 * place}" y="4" width="12" height="12" fill="{colour}"/>'
        f'<text x="{_MARGIN + 18 + 130 * place}" y="15" font-size="13">{name}</text>'
        for place, (name, colour) in enumerate(_COLOURS)
    )
    low, right = _HEIGHT - 8, _WIDTH - _MARGIN
    ends = (
        f'<text x="{_MARGIN}" y="{low}" font-size="12">{sums[0].hour}</text>'
        f'<text x="{right}" y="{low}" font-size="12" text-anchor="end">{sums[-1].hour}</text>'
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Files by hour and verdict">'
        f"{legend}{''.join(bars)}{ends}</svg>"
    )
