"""What an agent announces to the service, and parts of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from ses_benchmarks.http_call import request_bytes

SYSTEM = "bench"
ELEMENTS = 64  # as many as a table of an agent has of a storage system at most
LOOK = request_bytes("GET", "/v1/storage-systems")


def opened(placement_id: str, element: str, user: str = "bench", batch: int = 0) -> dict[str, object]:
    """Return an open file that a program placed on an element; ``batch``: how many were decided together."""
    file: dict[str, object] = {
        "placement_id": placement_id,
        "user": user,
        "application": "bench",
        "path": f"/srv/bench/{placement_id}.out",
        "device": 7,
        "inode": str(int(placement_id, 16)),
        "pid": 99,
        "restore": {"element": element, "placed_at": time.time(), "decided_by": "program"},
    }
    if batch:
        predicted = {"write": 5e7, "free": 1e11}
        file["decision"] = {"id": 0, "batch_number": 1, "batch_size": batch, "predicted": predicted}
    return file


def decided(system: str, elements: Iterable[str], **more: object) -> list[dict[str, object]]:
    """Return the one decision of a batch, which compared these elements."""
    candidates = [
        {"element": element, "distance": 0.0, "write": 5e7, "free": 1e11, "streams": 1.0, "age": 0.5}
        for element in elements
    ]
    return [{"id": 0, "decided_at": time.time(), "system": system, "candidates": candidates, **more}]


def ended(placement_ids: Sequence[str]) -> list[dict[str, object]]:
    """Return the ends of files that were closed."""
    return [
        {"placement_id": placement_id, "reason": "closed", "bytes_written": 1e6}
        for placement_id in placement_ids
    ]


def opened_by(node: int, files: int) -> list[dict[str, object]]:
    """Return the open files of a node."""
    numbers = (node * 1000 + number + 1 for number in range(files))
    return [opened(f"{number:016x}", f"{SYSTEM}/e{number % ELEMENTS}") for number in numbers]


def word(node: int, files: int = 0, revision: str | None = None, in_use: bool = False) -> bytes:
    """Return an announcement: of ``files`` files, all that are open there, or a sign of life with none.

    With ``revision`` it asks for the loads of all elements of that table, as if each had changed.
    """
    tables = [] if revision is None else [{"system": SYSTEM, "revision": revision, "version": 0}]
    return request_bytes(
        "POST",
        f"/v1/nodes/bench{node:05}/announcements",
        {
            "incarnation": f"{node + 1:016x}", "opened": opened_by(node, files), "ended": [],
            "complete": files > 0, "users": ["bench"], "tables": tables, "busy": in_use,
            "in_use": in_use,
        },
    )  # fmt: skip
