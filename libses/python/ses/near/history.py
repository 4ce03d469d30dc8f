"""What programs were seen to do with their data, so that they need not be tried again.

One small JSON file per user, ``$XDG_STATE_HOME/qstorman/near.json`` (default ``~/.local/state``), of the last
256 programs; a command's words are kept as a hash.  A file that cannot be read or written counts as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ses.settings import own_state
from ses.whole_file import write_whole

START_SECONDS = 0.5
"""Until a program runs on another node, before that was measured."""

_KEPT = 256


@dataclass(frozen=True, slots=True)
class Seen:
    """Of a command on a node: bytes returned and CPU seconds here per byte read, how many times slower a core
    is there, processors it may use there, seconds until it runs there, bytes of memory free there.
    """

    returned: float
    cpu_seconds_per_byte: float
    slowdown: float
    cores: float
    start_seconds: float
    memory: float = math.inf


def recall(argv: Sequence[str], node: str) -> Seen | None:
    """Return what was seen of a command on a node."""
    try:
        return Seen(**_all()[_key(argv, node)])
    except (KeyError, TypeError):
        return None


def remember(argv: Sequence[str], node: str, seen: Seen) -> None:
    """Keep what was seen of a command on a node."""
    known = _all()
    known.pop(_key(argv, node), None)
    known[_key(argv, node)] = asdict(seen)
    kept = dict(list(known.items())[-_KEPT:])
    file = _file()
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(file, json.dumps(kept))


def _file() -> Path:
    return own_state() / "near.json"


def _all() -> dict[str, dict[str, float]]:
    try:
        known = json.loads(_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _key(argv: Sequence[str], node: str) -> str:
    return hashlib.sha256(json.dumps([node, *argv]).encode()).hexdigest()
