"""How things are printed: tables for people, JSON for programs.

On a terminal: colour (not with ``NO_COLOR``), and tables that fit it.  Elsewhere each row of a table is one
whole line, in UTF-8, so that it can be piped, searched and compared; ``COLUMNS`` asks for a width there.

Names of files and programs are other people's: what in them would steer a terminal is shown escaped.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import click
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from ses_client.errors import SesError
from ses_client.visible import visible

from ses.columns import Column, fit, shortened
from ses.whole_file import write_whole

NARROWEST, USUAL, WIDEST = 80, 120, 200
WHOLE = 1_000_000  # a width that no row has: nothing is folded, shortened or left out


def console(stream: IO[str] | None = None, *, wide: bool = False, width: int = WHOLE) -> Console:
    """Return a console on a stream (standard output).  Texts are never read as markup.

    ``width`` is used off a terminal where ``COLUMNS`` says nothing; ``wide`` prints whole lines anywhere.
    """
    stream = stream or sys.stdout
    terminal = stream.isatty()
    return Console(
        file=stream,
        width=WHOLE if wide else None if terminal else _width(width),
        force_terminal=terminal,
        no_color=not terminal or bool(os.environ.get("NO_COLOR")),
        markup=False,
        highlight=False,
        emoji=False,
        safe_box=True,
    )


def _width(otherwise: int) -> int:
    try:
        return max(NARROWEST, min(WIDEST, int(os.environ.get("COLUMNS", ""))))
    except ValueError:
        return otherwise


def table(
    out: Console, headers: Sequence[Column | str], rows: Sequence[Sequence[str]], title: str = ""
) -> None:
    """Print a table, and what of it was left out because the terminal is narrow.

    A header that is a text starts with ``>`` when it is right-aligned.  No word is cut where the longest
    words of all columns fit beside each other.
    """
    columns = [Column.of(header) for header in headers]
    shown = [[plain(out, cell) for cell in row] for row in rows]
    if out.width >= WHOLE:
        _print_whole(out, columns, shown, title)
        return
    grid = Table(
        title=title or None,
        title_justify="left",
        box=box.SIMPLE_HEAD if _lines(out) else box.ASCII,
        show_edge=False,
        pad_edge=False,
    )
    fitting = fit(columns, shown, out.width)
    for place, width in zip(fitting.places, fitting.widths, strict=True):
        column = columns[place]
        grid.add_column(
            column.title, justify="right" if column.right else "left", overflow="fold", width=width
        )
    gap = "..." if plain(out, "…") != "…" else "…"
    for row in shown:
        grid.add_row(*(
            shortened(row[place], width, gap) if columns[place].path else row[place]
            for place, width in zip(fitting.places, fitting.widths, strict=True)
        ))  # fmt: skip
    out.print(grid)
    missing = [column.title for place, column in enumerate(columns) if place not in fitting.places]
    if missing:
        line(out, f"Not shown in {out.width} columns: {', '.join(missing)}. Shown with --wide.", "dim")


def _print_whole(out: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]], title: str) -> None:
    cells = [
        [column.title for column in columns],
        *([" ".join(cell.split("\n")) for cell in row] for row in rows),
    ]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    lines = [
        " | ".join(
            _padded(cell, width, right=column.right)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    out.file.write("\n".join([*([title] if title else []), *lines]) + "\n")


def _padded(cell: str, width: int, *, right: bool) -> str:
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if right else cell + blanks


def line(out: Console, text: str = "", style: str | None = None) -> None:
    """Print one line; a long one is left to the terminal to wrap."""
    out.print(plain(out, text), style=style, soft_wrap=True)


def print_json(data: Any) -> None:
    """Print JSON on standard output, indented, with a newline at the end."""
    sys.stdout.write(json_text(data))


def json_text(data: Any) -> str:
    """Return JSON in ASCII: what steers a terminal, and bytes that are no UTF-8, are escapes in it."""
    return json.dumps(data, indent=2) + "\n"


def write_json(file: Path, data: Any) -> None:
    """Write JSON to a file, or to standard output when it is named ``-``; raises SesError."""
    if str(file) == "-":
        print_json(data)
        return
    write_file(file, json_text(data), f"The results cannot be written to {file}")


def write_file(file: Path, text: str, failure: str = "") -> None:
    """Write a text to a file, as a whole or not at all; raises SesError."""
    try:
        write_whole(file, text)
    except OSError as error:
        raise SesError(f"{failure or f'{file} cannot be written'}: {error.strerror}.") from error


def say(text: str, *, err: bool = False) -> None:
    """Print a text and a newline on standard output, or on standard error, outside any table."""
    click.echo(visible(text), err=err)


def plain(out: Console, text: str) -> str:
    """Return the text without characters that the stream cannot show."""
    encoding = out.encoding or "utf-8"
    return visible(text).encode(encoding, "replace").decode(encoding)


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


def second(moment: float) -> str:
    """Return the local time of a time in seconds since the epoch."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
