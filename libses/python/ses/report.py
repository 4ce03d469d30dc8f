"""A report of the service, and the page that shows it: one file with its pictures, without scripts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape

from ses_client.messages.files import Report, Sum, cause_words
from ses_client.visible import on_one_line

_COLOURS = (("met", "#1a7f37"), ("nearly", "#9a6700"), ("missed", "#cf222e"), ("cannot say", "#8c959f"))
_WIDTH, _HEIGHT, _MARGIN = 900, 180, 30


def hour(total: Sum) -> str:
    """Return the name of a sum by hour as an hour, in local time."""
    return time.strftime("%Y-%m-%d %H:00", time.localtime(float(total.name)))


def page(report: Report, about: str, now: float) -> str:
    """Return the report as an HTML page; ``about`` says whose files these are."""
    total = report.total
    ratio = "none can be judged" if total.met_ratio is None else f"{total.met_ratio:.0%} of those judged"
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
    less = "" if report.complete else "<p>Only the latest files were looked at.</p>"
    causes = "".join(
        f"<li>{_text(cause_words(cause.cause))}: {cause.files} files</li>" for cause in report.causes
    )
    advice = "".join(f"<li>{_text(text)}</li>" for text in report.advice)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>QStorMan: what files received</title>
<style>body{{font:16px sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1f2328}}
table{{border-collapse:collapse}}td,th{{padding:.2rem .8rem;text-align:right;border-bottom:1px solid #d0d7de}}
td:first-child,th:first-child{{text-align:left}}</style></head><body>
<h1>Did files receive what was required?</h1>
<p>{_text(about)}; as of {moment}. Met: {total.met} of {total.files} files ({ratio}).</p>{less}
<h2>By hour</h2>{_hours(report.hours)}
<h2>By application, worst first</h2>{_rows("application", report.applications)}
<h2>By job, worst first</h2>{_rows("job", report.jobs)}
<h2>By element, worst first</h2>{_rows("element", report.elements)}
<h2>By user, worst first</h2>{_rows("user", report.users)}
<h2>By VO, worst first</h2>{_rows("VO", report.vos)}
<h2>Likely causes</h2><ul>{causes or "<li>no file missed what was required</li>"}</ul>
<h2>What may help</h2><ul>{advice or "<li>nothing is needed</li>"}</ul>
<p>Met: all that was required; nearly: at least 80 % of it. Cannot say: the rate is not certain, for instance
because what was written was still in the memory of the node when the file was closed.</p>
</body></html>
"""


def _text(words: str) -> str:
    return escape(on_one_line(words))


def _rows(title: str, sums: Sequence[Sum]) -> str:
    heads = (title, "files", "met", "nearly", "missed", "cannot say", "short by", "got of predicted")
    rows = "".join(
        f"<tr><td>{_text(total.name or '-')}</td><td>{total.files}</td><td>{total.met}</td>"
        f"<td>{total.nearly}</td><td>{total.missed}</td><td>{total.cannot_say}</td><td>{total.shortfall:.0%}</td>"
        f"<td>{'-' if total.of_forecast is None else f'{total.of_forecast:.0%}'}</td></tr>"
        for total in sums
    )
    return f"<table><tr>{''.join(f'<th scope=col>{head}</th>' for head in heads)}</tr>{rows}</table>"


def _hours(sums: Sequence[Sum]) -> str:
    """Return a picture with one bar an hour, made of its verdicts."""
    if not sums:
        return "<p>No file ended.</p>"
    most = max(total.files for total in sums) or 1
    wide = (_WIDTH - 2 * _MARGIN) / len(sums)
    bars = []
    for place, total in enumerate(sums):
        below = float(_HEIGHT - _MARGIN)
        counts = (total.met, total.nearly, total.missed, total.cannot_say)
        for (_, colour), count in zip(_COLOURS, counts, strict=True):
            high = count / most * (_HEIGHT - 2 * _MARGIN)
            below -= high
            x = _MARGIN + place * wide
            bars.append(
                f'<rect x="{x:.1f}" y="{below:.1f}" width="{max(1.0, wide - 1):.1f}" height="{high:.1f}" '
                f'fill="{colour}"><title>{hour(total)}: {count}</title></rect>'
            )
    legend = "".join(
        f'<rect x="{_MARGIN + 130 * place}" y="4" width="12" height="12" fill="{colour}"/>'
        f'<text x="{_MARGIN + 18 + 130 * place}" y="15" font-size="13">{name}</text>'
        for place, (name, colour) in enumerate(_COLOURS)
    )
    low, right = _HEIGHT - 8, _WIDTH - _MARGIN
    ends = (
        f'<text x="{_MARGIN}" y="{low}" font-size="12">{hour(sums[0])}</text>'
        f'<text x="{right}" y="{low}" font-size="12" text-anchor="end">{hour(sums[-1])}</text>'
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Files by hour and verdict">'
        f"{legend}{''.join(bars)}{ends}</svg>"
    )
