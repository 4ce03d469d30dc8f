"""Keeps how fast elements and quotas fill, also over a restart: in a file written with every sample."""

import json
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import structlog

from ses_service.decision.space_outlook import SpaceTrend
from ses_service.model.entities import Observation
from ses_service.security.whole_file import write_whole

_log = structlog.get_logger("ses_service")


class Space:
    """All methods may be called from any thread."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._trend = SpaceTrend()
        self._recall()

    def take(self, observations: Iterable[Observation], now: float) -> None:
        """Take the free space of elements; what is old is none."""
        with self._lock:
            if not self._trend.due(now):
                return
        seen = (
            (observation.element, observation.free_bytes)
            for observation in observations
            if observation.state == "ok"
        )
        self.record([(name, free) for name, free in seen if free is not None], now)

    def record(self, seen: Sequence[tuple[str, float]], now: float) -> None:
        """Take a sample of what is free, by name, when one is due."""
        with self._lock:
            if not seen or not self._trend.due(now):
                return
            self._trend.record(now, [name for name, _ in seen], [free for _, free in seen])
            origin, lines = self._trend.saved()
        if self._path is None:
            return
        try:
            write_whole(self._path, json.dumps({"origin": origin, "lines": lines}).encode())
        except OSError as error:
            _log.warning("the space outlook cannot be written", detail=str(error))

    def changes(self, now: float) -> dict[str, float]:
        """Return how the free space of elements changes, in bytes a day; of those of which it is known."""
        with self._lock:
            return self._trend.changes(now)

    def _recall(self) -> None:
        if self._path is None:
            return
        try:
            held = json.loads(self._path.read_text("utf-8"))
            self._trend.restore(held["origin"], held["lines"])
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _log.warning("the space outlook cannot be read", path=str(self._path), detail=str(error))
