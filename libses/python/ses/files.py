"""Files and their verdicts as the service answers them, and how they are shown.

Rates are in the unit that comes with them, times seconds since the epoch.  The words are the service's.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Iterator
from typing import IO

from ses_client.client import ServiceClient
from ses_client.errors import NotAllowedError, NotFoundError, RefusedError
from ses_client.messages.files import COLUMNS, File, FilePage, Received, cause_words, csv_cell
from ses_client.messages.message import JSON
from ses_client.visible import on_one_line

from ses.columns import Column
from ses.output import number

_MAX_AT_ONCE = 1000


def words(verdict: str | None) -> str:
    """Return a verdict as people read it."""
    return "nothing required" if verdict is None else verdict.replace("-", " ")


def listed(client: ServiceClient, asked: dict[str, str], most: int | None) -> Iterator[FilePage]:
    """Yield pages of files, ``most`` files in all, or all there are."""
    left = most
    after: str | None = None
    while left is None or left > 0:
        limit = _MAX_AT_ONCE if left is None else min(left, _MAX_AT_ONCE)
        page = client.files(asked, after=after, limit=limit)
        yield page
        after = page.next
        if not after:
            return
        left = None if left is None else left - len(page.files)


def received_by(client: ServiceClient, placement_id: str) -> Received | None:
    """Return what a file or place received; ``None`` where the service does not say."""
    try:
        return client.file(placement_id)
    except (NotAllowedError, NotFoundError, RefusedError):
        return None


def became(file: File) -> str:
    """Return what became of a file: the verdict, with the likely cause of a miss."""
    if file.state == "open":
        return "open"
    verdict = words(file.verdict)
    return f"{verdict}: {cause_words(file.cause)}" if file.cause else verdict


def row(file: File) -> list[str]:
    """Return a file as a row of a table."""
    return [
        on_one_line(file.path or file.placement_id),
        file.element,
        "" if file.ended_at is None else time.strftime("%m-%d %H:%M:%S", time.localtime(file.ended_at)),
        number(None if file.bytes_written is None else file.bytes_written / 1e6, 1),
        file.kind or "",
        number(file.required),
        number(file.predicted),
        number(file.achieved),
        file.unit or "",
        became(file),
    ]


HEADERS = (
    Column("file", path=True),
    Column("element"),
    Column("ended", leaves=3),
    Column("MB", right=True, leaves=4),
    Column("kind", leaves=2),
    Column("required", right=True),
    Column("predicted", right=True, leaves=5),
    Column("got", right=True),
    Column("unit", leaves=1),
    Column("verdict", wraps=True),
)


def write_csv(stream: IO[str], files: Iterable[JSON]) -> None:
    """Write files as comma-separated values with a header; empty is unknown."""
    writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in file.items()} for file in files)


def verdict_lines(received: Received) -> list[str]:
    """Return what a file received, a sentence for each kind and one for the likely cause."""
    lines = []
    for kind in received.kinds:
        numbers = f"{number(kind.achieved)} of {number(kind.required)} {kind.unit}"
        lines.append(f"{kind.kind}: {words(kind.verdict)}, {numbers}. {kind.why}".rstrip())
    if received.cause:
        lines.append(f"likely cause: {received.why}")
    return lines
