"""What is handed to who writes a database: parts, each a list of rows of one table, or of keys to remove."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import sqlalchemy as sa

from ses_service.store.upsert import Values

SET_ASIDE = "set aside"  # what a writer in another process is asked, besides "open"

TELL, ADOPT, ADOPT_OPEN = "tell", "adopt", "adopt open"

Part: TypeAlias = tuple[str, Sequence[Any]]


def saving(table: sa.Table, rows: Sequence[Values]) -> Part:
    """Return what inserts or changes these rows."""
    return table.name, rows


def removing(table: sa.Table, keys: Sequence[str]) -> Part:
    """Return what removes the rows with these keys."""
    return f"-{table.name}", keys


def telling(texts: Sequence[str]) -> Part:
    """Return what tells other services that share the database."""
    return TELL, texts


def adopting(services: Sequence[str]) -> Part:
    """Return what takes over the placements of services that are gone."""
    return ADOPT, services


def adopting_open(ids: Sequence[str]) -> Part:
    """Return what takes over these placements where they are open."""
    return ADOPT_OPEN, ids


class Writes(Protocol):
    """Who puts rows into the database: a :class:`ses_service.store.writer.Writer`, wherever it runs."""

    def open(self) -> bool:
        """Take the right to write; return whether the tables are as we left them."""

    def set_aside(self) -> bool:
        """Rename a damaged file, so that ``open`` makes a new one."""

    def write(self, parts: Iterable[Part], between: Callable[[], None] = ...) -> None:
        """Write all parts in one transaction."""
