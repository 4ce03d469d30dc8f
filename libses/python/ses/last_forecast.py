"""The last forecast of a user, so that what came of it can be put beside it.

One small JSON file, ``$XDG_STATE_HOME/qstorman/forecast.json`` (default ``~/.local/state``).  A file that
cannot be written or read counts as none.
"""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

from ses.settings import own_state
from ses.streaming.advice import Place, Work
from ses.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class Kept:
    """What a forecast was made from.  ``at``: seconds since the epoch; ``link``: bytes per second."""

    at: float
    program: str
    user: str
    application: str | None
    work: Work
    places: tuple[Place, ...]
    link: float = math.inf


def keep(forecast: Kept) -> None:
    """Keep a forecast instead of the last one."""
    file = _file()
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(file, json.dumps(asdict(forecast)))


def last() -> Kept | None:
    """Return the last forecast that was kept."""
    try:
        data = json.loads(_file().read_text("utf-8"))
        places = tuple(Place(**place) for place in data["places"])
        return Kept(**{**data, "work": Work(**data["work"]), "places": places})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _file() -> Path:
    return own_state() / "forecast.json"
