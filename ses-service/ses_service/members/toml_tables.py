"""Tables of a TOML file that know the line they begin in, and what of them was not asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

_HEAD = re.compile(r"\s*(\[\[?)\s*([A-Za-z_.\s]+?)\s*\]\]?\s*(?:#.*)?")
_MISSING = object()

Lines: TypeAlias = dict[str, list[int]]


class MembersFileError(Exception):
    """The members file cannot be used; the message names file, line and what to do."""


def lines_of(text: str) -> Lines:
    """Return the lines in which tables of each name begin, in order; the first line is 1."""
    lines: Lines = {}
    for number, line in enumerate(text.splitlines(), 1):
        head = _HEAD.fullmatch(line)
        if head is not None:
            lines.setdefault("".join(head[2].split()), []).append(number)
    return lines


class Table:
    """One table.  Each method takes a value out; :meth:`done` fails for what nobody took."""

    def __init__(self, path: Path, data: dict[str, Any], line: int, name: str, lines: Lines) -> None:
        self._path = path
        self._left = dict(data)
        self._name = name
        self._lines = lines
        self.line = line

    def fail(self, what: str) -> NoReturn:
        """Raise MembersFileError about this table."""
        raise MembersFileError(f"{self._path}, line {self.line}: {self._name}: {what}")

    def done(self) -> None:
        """Fail when the table says something that nobody asked for."""
        if self._left:
            self.fail(f"{', '.join(sorted(self._left))} is not known here")

    def table(self, name: str) -> Table | None:
        """Return a table within this one."""
        value = self._left.pop(name, None)
        if value is None:
            return None
        return self._within(name, value, f"[{name}]", 0)

    def tables(self, name: str) -> list[Table]:
        """Return the tables of an array within this one."""
        full = f"{self._name.strip('[]')}.{name}"
        value = self._left.pop(name, [])
        if not isinstance(value, list):
            self.fail(f"write each as a [[{full}]]")
        return [self._within(full, table, f"[[{full}]]", place) for place, table in enumerate(value)]

    def text(self, name: str, *, required: bool = False) -> str | None:
        """Return a text that is not empty and has no control characters."""
        value = self._left.pop(name, _MISSING)
        if value is _MISSING:
            if required:
                self.fail(f"{name} is missing")
            return None
        if not isinstance(value, str) or not value or not value.isprintable():
            self.fail(f"{name} must be a text that is not empty")
        return value

    def texts(self, name: str, default: Sequence[str]) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self._left.pop(name, list(default))
        if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
            self.fail(f"{name} must be a list of texts")
        return tuple(value)

    def path(self, name: str) -> Path | None:
        """Return a file; one that is not absolute is beside the members file."""
        value = self.text(name)
        return None if value is None else self._path.parent / value

    def flag(self, name: str) -> bool:
        """Return a truth value; false when it is not there."""
        value = self._left.pop(name, False)
        if not isinstance(value, bool):
            self.fail(f"{name} must be true or false")
        return value

    def choice(self, name: str, words: Sequence[str]) -> str | None:
        """Return one of some words."""
        value = self.text(name)
        if value is not None and value not in words:
            self.fail(f"{name} must be {' or '.join(words)}")
        return value

    def seconds(self, name: str, default: float, least: float) -> float:
        """Return a number of seconds."""
        value = self._left.pop(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e9:
            self.fail(f"{name} must be a number of seconds from {least:g} up")
        return float(value)

    def _within(self, name: str, data: object, shown: str, place: int) -> Table:
        lines = self._lines.get(name, [])
        line = lines[place] if place < len(lines) else self.line
        if not isinstance(data, dict):
            self.fail(f"{name} must be a table")
        return Table(self._path, data, line, shown, self._lines)
