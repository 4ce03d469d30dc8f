"""Files and their verdicts as the service answers them, and how they are shown.

Rates are in the unit that comes with them, times seconds since the epoch.  The words are the service's.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from ses.answers import parse
from ses.output import number
from ses.service import JSON, ServiceClient

CAUSES = {
    "program": "the program waited elsewhere",
    "slow-element": "slower than described",
    "others": "others came",
    "foreseen": "no more was predicted",
    "client-or-network": "program, node or network",
}
_MOST_AT_ONCE = 1000
_COLUMNS = (
    "placement_id", "state", "user", "application", "vo", "job", "node", "element", "path", "opened_at",
    "ended_at", "end_reason", "bytes_written", "bytes_read", "write_mb_s", "read_mb_s", "verdict", "cause",
    "kind", "unit", "required", "predicted", "achieved",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class File:
    """One file, as far as tables show it; ``None`` is unknown."""

    path: str
    user: str
    element: str
    state: str
    ended_at: float | None
    bytes_written: float | None
    verdict: str | None
    cause: str | None
    kind: str | None
    unit: str
    required: float | None
    predicted: float | None
    achieved: float | None

    @classmethod
    def of(cls, data: Any) -> File:
        """Make one from JSON."""
        return cls(
            path=str(data["path"] or data["placement_id"]),
            user=str(data["user"]),
            element=str(data["element"]),
            state=str(data["state"]),
            ended_at=data["ended_at"],
            bytes_written=data["bytes_written"],
            verdict=data["verdict"],
            cause=data["cause"],
            kind=data["kind"],
            unit=str(data["unit"] or ""),
            required=data["required"],
            predicted=data["predicted"],
            achieved=data["achieved"],
        )

    @property
    def words(self) -> str:
        """What became of it: the verdict, with the likely cause of a miss."""
        if self.state == "open":
            return "open"
        found = words(self.verdict)
        return f"{found}: {CAUSES.get(self.cause, self.cause)}" if self.cause else found


def words(verdict: str | None) -> str:
    """Return a verdict as people read it."""
    return "nothing required" if verdict is None else verdict.replace("-", " ")


def listed(client: ServiceClient, asked: dict[str, str], most: int | None) -> Iterator[list[JSON]]:
    """Yield pages of files, ``most`` files in all, or all there are."""
    left = most
    after: str | None = None
    while left is None or left > 0:
        limit = _MOST_AT_ONCE if left is None else min(left, _MOST_AT_ONCE)
        page = client.files({**asked, "limit": str(limit), **({"after": after} if after else {})})
        files: list[JSON] = parse("files", lambda data: list(data["files"]), page)
        yield files
        after = page.get("next")
        if not after:
            return
        left = None if left is None else left - len(files)


def row(one: File) -> list[str]:
    """Return a file as a row of a table."""
    return [
        one.path,
        one.element,
        "" if one.ended_at is None else time.strftime("%m-%d %H:%M:%S", time.localtime(one.ended_at)),
        number(None if one.bytes_written is None else one.bytes_written / 1e6, 1),
        one.kind or "",
        number(one.required),
        number(one.predicted),
        number(one.achieved),
        one.unit,
        one.words,
    ]


HEADERS = ("file", "element", "ended", ">MB", "kind", ">required", ">predicted", ">got", "", "verdict")


def write_csv(stream: IO[str], pages: Iterable[list[JSON]]) -> None:
    """Write files as comma-separated values with a header; empty is unknown."""
    writer = csv.DictWriter(stream, _COLUMNS, extrasaction="ignore")
    writer.writeheader()
    for page in pages:
        writer.writerows(page)


def verdict_lines(record: Any) -> list[str]:
    """Return what a file received, a sentence for each kind and one for the likely cause."""
    told = []
    for one in record["kinds"]:
        unit, kind, verdict = one["unit"], one["kind"], words(one["verdict"])
        numbers = f"{number(one['achieved'])} of {number(one['required'])} {unit}"
        told.append(f"{kind}: {verdict}, {numbers}. {one['why']}".rstrip())
    if record["cause"]:
        told.append(f"likely cause: {record['why']}")
    return told
