"""What the monitor keeps over a restart: the ring of histories and what it learned of capabilities.

One file, replaced whole: a line that says what it is, a line of JSON, the arrays as they lie in memory,
and a checksum over all of it.  A file that is torn, of another program or of another version is refused
with the reason; the monitor then starts with nothing.  Of this machine's byte order only.
"""

import json
import os
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from smed_monitor.core.capability import Best
from smed_monitor.core.errors import MonitorError
from smed_monitor.state.history import FIELDS, Contents
from smed_monitor.state.replacing import replacing

NAME = "monitor.state"
MAGIC = b"smed-monitor state "
VERSION = b"1"
CHECK_BYTES = 4


class StateError(MonitorError):
    """The file of an earlier run cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class State:
    """All that is kept; ``learned`` is element -> best rates."""

    history: Contents
    learned: Mapping[str, Best] = field(default_factory=dict)


def save(path: Path, state: State) -> None:
    """Put ``state`` at ``path`` in one step; what was there stays until then.  Raises OSError."""
    facts = {
        "names": state.history.names,
        "points": len(state.history.times),
        "byteorder": sys.byteorder,
        "learned": {name: [best.read, best.write] for name, best in state.learned.items()},
    }
    parts = (
        MAGIC + VERSION + b"\n" + json.dumps(facts).encode() + b"\n",
        np.ascontiguousarray(state.history.times, np.float64).reshape(-1).view(np.uint8).data,
        np.ascontiguousarray(state.history.values, np.float32).reshape(-1).view(np.uint8).data,
    )
    check = 0
    with replacing(path) as file:
        for part in parts:
            check = zlib.crc32(part, check)
            file.write(part)
        file.write(check.to_bytes(CHECK_BYTES, "big"))
        file.flush()
        os.fsync(file.fileno())


def load(path: Path) -> State | None:
    """What ``save`` wrote; ``None`` when there is no file.  Raises StateError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"cannot be read: {error.strerror}") from error
    if not content.startswith(MAGIC):
        raise StateError("is not a file of smed-monitor")
    first, _, rest = content.partition(b"\n")
    if first != MAGIC + VERSION:
        raise StateError(f"has version {first[len(MAGIC) :][:16].decode('ascii', 'replace')}, not 1")
    if zlib.crc32(content[:-CHECK_BYTES]) != int.from_bytes(content[-CHECK_BYTES:], "big"):
        raise StateError("is torn: its checksum is wrong")
    head, _, arrays = rest.partition(b"\n")
    try:
        return _state(json.loads(head), arrays[:-CHECK_BYTES])
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"does not hold what it should: {error!r}") from error


def _state(facts: Any, arrays: bytes) -> State:
    if facts["byteorder"] != sys.byteorder:
        raise ValueError("of another byte order")
    points, names = int(facts["points"]), tuple(str(name) for name in facts["names"])
    times = np.frombuffer(arrays, np.float64, points)
    values = np.frombuffer(arrays, np.float32, offset=times.nbytes)
    learned = {str(name): Best(*best) for name, best in facts["learned"].items()}
    return State(Contents(names, times, values.reshape(len(names), points, FIELDS)), learned)
