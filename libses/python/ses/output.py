"""How things are printed: tables for people, JSON for programs.

On a terminal: colour (not with ``NO_COLOR``) and lines.  Elsewhere plain ASCII, between 80 and 200
columns wide (``COLUMNS``, else 120), so that the output can be piped, logged and compared.

Names of files and programs are other people's: what in them would steer a terminal is shown escaped.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from ses_client.errors import SesError

NARROWEST, USUAL, WIDEST = 80, 120, 200
# Control characters but tab and newline, marks that turn the direction of text, bytes that are no UTF-8.
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = re.compile("[\t\n]")
_BETWEEN = 3  # columns of characters between two columns of a table


def console(stream: IO[str] | None = None) -> Console:
    """Return a console on a stream (standard output).  Texts are never read as markup."""
    stream = stream or sys.stdout
    terminal = stream.isatty()
    return Console(
        file=stream,
        width=None if terminal else _width(),
        force_terminal=terminal,
        no_color=not terminal or bool(os.environ.get("NO_COLOR")),
        markup=False,
        highlight=False,
        emoji=False,
        safe_box=True,
    )


def _width() -> int:
    try:
        wanted = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        wanted = USUAL
    return max(NARROWEST, min(WIDEST, wanted))


def table(out: Console, headers: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table.  A header that starts with ``>`` is right-aligned.

    No word is cut where the longest words of all columns fit beside each other.
    """
    grid = Table(
        title=title or None,
        title_justify="left",
        box=box.SIMPLE_HEAD if _lines(out) else box.ASCII,
        show_edge=False,
        pad_edge=False,
    )
    shown = [[plain(out, cell) for cell in row] for row in rows]
    titles = [header.lstrip(">") for header in headers]
    widths = _widths(list(zip(titles, *shown, strict=True)), out.width - _BETWEEN * (len(headers) - 1))
    for header, title, width in zip(headers, titles, widths, strict=True):
        side: Literal["left", "right"] = "right" if header.startswith(">") else "left"
        grid.add_column(title, justify=side, overflow="fold", width=width)
    for row in shown:
        grid.add_row(*row)
    out.print(grid)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return a width for each column that cuts none of its words.

    Each has its longest word; what is left goes first to those that need little more for their longest cell.
    Where even the words do not fit, the longest are cut, in as few columns as possible.
    """
    least = [max((cell_len(word) for cell in one for word in cell.split()), default=1) for one in columns]
    wanted = [max(map(cell_len, one)) for one in columns]
    spare = room - sum(least)
    if spare < 0:
        return _cut(least, room)
    widths = [*least]
    order = sorted(range(len(columns)), key=lambda place: wanted[place] - least[place])
    for done, place in enumerate(order):
        more = min(max(0, wanted[place] - least[place]), spare // (len(order) - done))
        widths[place] = least[place] + more
        spare -= more
    return widths


def _cut(least: Sequence[int], room: int) -> list[int]:
    """Return widths that fit: the longest give way until the next longest is as long."""
    widths = [*least]
    while sum(widths) > max(room, len(widths)):
        longest = max(widths)
        widths[widths.index(longest)] = longest - 1
    return widths


def line(out: Console, text: str = "", style: str | None = None) -> None:
    """Print one line; a long one is left to the terminal to wrap."""
    out.print(plain(out, text), style=style, soft_wrap=True)


def print_json(data: Any) -> None:
    """Print JSON on standard output, indented, with a newline at the end."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def write_json(file: Path, data: Any) -> None:
    """Write JSON to a file, or to standard output when it is named ``-``; raises SesError."""
    if str(file) == "-":
        print_json(data)
        return
    try:
        file.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise SesError(f"The results cannot be written to {file}: {error.strerror}.") from error


def visible(text: str) -> str:
    """Return a text with what would steer a terminal escaped: ``\\x1b``."""
    return _STEERS.sub(_escaped, text)


def on_one_line(text: str) -> str:
    """Return a name with its tabs and newlines escaped, too."""
    return _BREAKS.sub(_escaped, visible(text))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    byte = code - 0xDC00  # how Python reads a byte of a name that is no UTF-8
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else found[0].encode("unicode_escape").decode("ascii")


def plain(out: Console, text: str) -> str:
    """Return the text without characters that the stream cannot show (ASCII off a terminal)."""
    text = visible(text)
    if _lines(out):
        return text
    return text.encode("ascii", "replace").decode("ascii")


def _lines(out: Console) -> bool:
    return out.is_terminal and (out.encoding or "").lower().startswith("utf")


def number(value: float | None, digits: int = 1) -> str:
    """Return a number for a table cell; ``-`` when it is not known."""
    return "-" if value is None else f"{value:.{digits}f}"


def seconds(value: float | None) -> str:
    """Return a duration for a table cell."""
    return "-" if value is None else f"{value:.1f} s"


def day(moment: float) -> str:
    """Return the local day of a time in seconds since the epoch."""
    return time.strftime("%Y-%m-%d", time.localtime(moment))
