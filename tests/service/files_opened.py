"""What an agent says of files that programs placed: the only way by which the ledger hears of them."""

import itertools
import json
from collections.abc import Iterable
from typing import Any

from ses_state._state import Files, decode

AGENT = "a" * 16
PLACED_AT = 1.0

_NUMBERS = itertools.count(1)


def opened(
    placement_id: str, *, element: str = "union/b0", user: str = "alice", inode: int = 1, **more: Any
) -> dict[str, Any]:
    """Return a file on an element, for ``opened`` of an announcement."""
    placed_at = more.pop("placed_at", PLACED_AT)
    return {
        "placement_id": placement_id,
        "user": user,
        "application": "dd",
        "device": 5,
        "inode": str(inode),
        "restore": {"element": element, "placed_at": placed_at, "decided_by": "program"},
        **more,
    }


def files(opened: Iterable[Any] = (), ended: Iterable[Any] = ()) -> Files:
    """Return files of an announcement as they are read."""
    read = decode(json.dumps({"opened": list(opened), "ended": list(ended)}).encode())
    assert read is not None
    return read[0]


def new_ids(count: int) -> list[str]:
    """Return ids nobody had before."""
    return [f"{next(_NUMBERS):016x}" for _ in range(count)]


def announcement(ids: list[str], elements: list[str], **more: Any) -> dict[str, Any]:
    """Return an announcement of files, on the elements in turn."""
    files = [
        opened(placement, element=elements[number % len(elements)], **{"inode": number + 1, **more})
        for number, placement in enumerate(ids)
    ]
    return {"incarnation": AGENT, "opened": files}


def decision(number: int = 0, *elements: str) -> dict[str, Any]:
    """Return what files were chosen by, for ``decisions`` of an announcement."""
    return {
        "id": number,
        "decided_at": PLACED_AT,
        "system": "union",
        "candidates": [
            {"element": element, "distance": 0.0, "write": 1e8, "free": 1e9, "streams": 0.0, "age": 0.5}
            for element in elements
        ],
        "refused": [{"element": "union/b2", "reason": "draining"}],
        "refused_total": 1,
    }
