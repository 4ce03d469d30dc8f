"""What is handed to the writer of a database: parts, each with rows of one table, or keys or texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

SAVE, REMOVE, NOTIFY, ADOPT, ADOPT_OPEN = "save", "remove", "notify", "adopt", "adopt open"
SET_ASIDE = "set aside"  # what a writer in another process is asked, besides "open"


class Part(NamedTuple):
    """One part of a transaction, by what is done with ``values``.

    ``SAVE``: rows of ``table``, inserted or changed; ``REMOVE``: keys of rows of ``table``; ``NOTIFY``: texts
    for other services that share the database; ``ADOPT``: services that are gone, whose placements are taken
    over; ``ADOPT_OPEN``: ids of placements that are taken over where they are open.
    """

    action: str
    values: Sequence[Any]
    table: str = ""


class Writes(Protocol):
    """Puts rows into the database: a :class:`ses_service.store.writer.Writer`, wherever it runs."""

    def open(self) -> bool:
        """Take the right to write; return whether the tables are as we left them."""

    def set_aside(self) -> bool:
        """Rename a damaged file, so that ``open`` makes a new one."""

    def write(self, parts: Iterable[Part], between: Callable[[], None] = ...) -> None:
        """Write all parts in one transaction."""
