"""Which columns of a table are shown, and how wide each is, where the terminal is narrow.

Widths are in cells of the terminal: a character of Chinese takes two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

BETWEEN = 3  # cells between two columns
_SHORTEST_PATH = 20


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    ``leaves`` says in which order columns are left out: the highest first, 0 never.  A column that
    ``wraps`` may take several lines.  Cells of a ``path`` are shortened in the middle.
    """

    title: str
    right: bool = False
    leaves: int = 0
    wraps: bool = False
    path: bool = False

    @classmethod
    def of(cls, header: Column | str) -> Column:
        """Return a column; a text is a title, right-aligned when it starts with ``>``, and wraps."""
        if isinstance(header, Column):
            return header
        return cls(header.lstrip(">"), right=header.startswith(">"), wraps=True)


@dataclass(frozen=True, slots=True)
class Fit:
    """The places of the columns that are shown, with a width for each."""

    places: tuple[int, ...]
    widths: tuple[int, ...]


def fit(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Fit:
    """Return which columns are shown in ``width`` cells.

    Columns are left out until the others have room for their cells, those that wrap for their longest
    word.  What is left goes first to those that need little more for their longest cell.  Where nothing
    more can be left out, the widest give way.
    """
    cells = list(zip([column.title for column in columns], *rows, strict=True))
    wanted = [max(cell_len(text) for cell in held for text in cell.split("\n")) for held in cells]
    least = [_least(column, cells[place], wanted[place]) for place, column in enumerate(columns)]
    places = list(range(len(columns)))
    while sum(least[place] + BETWEEN for place in places) - BETWEEN > width:
        leaving = max(places, key=lambda place: columns[place].leaves)
        if not columns[leaving].leaves:
            break
        places.remove(leaving)
    room = width - BETWEEN * (len(places) - 1)
    widths = _shared([least[place] for place in places], [wanted[place] for place in places], room)
    return Fit(tuple(places), tuple(widths))


def shortened(path: str, width: int, gap: str) -> str:
    """Return a path that fits, with ``gap`` in the middle; more is kept of its end, where names differ."""
    if cell_len(path) <= width:
        return path
    room = max(width - cell_len(gap), 0)
    head, tail = "", ""
    for character in path:
        if cell_len(head + character) > room // 3:
            break
        head += character
    for character in reversed(path):
        if cell_len(head + character + tail) > room:
            break
        tail = character + tail
    return head + gap + tail


def _least(column: Column, cells: Sequence[str], wanted: int) -> int:
    if column.path:
        return min(wanted, _SHORTEST_PATH)
    if column.wraps:
        return max((cell_len(word) for cell in cells for word in cell.split()), default=1)
    return wanted


def _shared(least: Sequence[int], wanted: Sequence[int], room: int) -> list[int]:
    spare = room - sum(least)
    if spare < 0:
        return _cut(least, room)
    widths = [*least]
    order = sorted(range(len(least)), key=lambda place: wanted[place] - least[place])
    for done, place in enumerate(order):
        more = min(max(0, wanted[place] - least[place]), spare // (len(order) - done))
        widths[place] = least[place] + more
        spare -= more
    return widths


def _cut(least: Sequence[int], room: int) -> list[int]:
    """Return widths that fit: the widest give way until the next widest is as wide."""
    widths = [*least]
    while sum(widths) > max(room, len(widths)):
        widest = max(widths)
        widths[widths.index(widest)] = widest - 1
    return widths
