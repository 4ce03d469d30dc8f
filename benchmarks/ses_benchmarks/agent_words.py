"""What an agent says to the service, as bytes, and the files it says it has open."""

from __future__ import annotations

import time

from ses_benchmarks.http_call import request_bytes

SYSTEM = "bench"
ELEMENTS = 64  # as many as an agent is told of a storage system at most
LOOK = request_bytes("GET", "/v1/storage-systems")


def element(number: int) -> str:
    """Return the name of an element, in turn."""
    return f"{SYSTEM}/e{number % ELEMENTS}"


def opened(node: int, number: int) -> dict[str, object]:
    """Return an open file of a node."""
    one = node * 1000 + number + 1
    return {
        "placement_id": f"{one:016x}", "user": "bench", "application": "bench", "path": f"/srv/bench/{one}",
        "device": 7, "inode": str(one), "pid": 99,
        "restore": {"element": element(one), "placed_at": time.time(), "decided_by": "program"},
    }  # fmt: skip


def word(node: int, files: int = 0, revision: str | None = None, in_use: bool = False) -> bytes:
    """Return an announcement: of so many files, all that are open there, or a sign of life with none.

    With ``revision`` it asks for the loads of all elements of that table, as if each had changed.
    """
    tables = [] if revision is None else [{"system": SYSTEM, "revision": revision, "version": 0}]
    return request_bytes(
        "POST",
        f"/v1/nodes/bench{node:05}/announcements",
        {
            "incarnation": f"{node + 1:016x}", "opened": [opened(node, one) for one in range(files)],
            "ended": [], "complete": files > 0, "users": ["bench"], "tables": tables, "busy": in_use,
            "in_use": in_use,
        },
    )  # fmt: skip
