"""Asks the monitor what one element did."""

from __future__ import annotations

from typing import NamedTuple, Required
from urllib.parse import urlencode

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ses_service.feeds.monitor_answer import MonitorError, answer_of
from ses_service.security.trust import Trust

_SECONDS = 3.0
_MAX_ANSWER = 2**20


class _Point(TypedDict, total=False):
    at: Required[float]
    read_bytes_per_second: float | None
    write_bytes_per_second: float | None
    queue_depth: float | None


class _Answer(TypedDict, total=False):
    step_seconds: Required[float]
    source: str
    detail: str
    points: Required[list[_Point]]


_ANSWER = TypeAdapter(_Answer)


class Point(NamedTuple):
    """Means over a step that ended ``at`` (seconds since the epoch); rates are bytes per second."""

    at: float
    read: float | None
    write: float | None
    queue_depth: float | None


class Past(NamedTuple):
    """What an element did; ``source`` is where the monitor has it from, ``detail`` why not a better one."""

    step: float
    source: str
    detail: str
    points: tuple[Point, ...]


class MonitorHistory:
    """The histories of one monitor.  Thread-safe."""

    def __init__(self, url: str | None, trust: Trust) -> None:
        self._url = None if url is None else url.rstrip("/") + "/v1/history"
        self._trust = trust

    def of(self, element: str, since: float, until: float, step: float) -> Past | None:
        """Return what an element did in a time; ``None``: the monitor has no such element.

        Raises MonitorError.
        """
        if self._url is None:
            raise MonitorError("no monitor is configured")
        asked = {"element": element, "since": f"{since:.3f}", "until": f"{until:.3f}", "step": f"{step:g}"}
        with self._trust.pool() as pool:
            answer = answer_of(pool, f"{self._url}?{urlencode(asked)}", _MAX_ANSWER, _SECONDS)
        return None if answer is None else _read(answer.body)


def _read(body: bytes) -> Past:
    try:
        decoded = _ANSWER.validate_json(body)
    except ValidationError as error:
        raise MonitorError(f"the monitor's answer cannot be read: {error.errors()[0]['msg']}") from None
    points = tuple(
        Point(
            point["at"],
            point.get("read_bytes_per_second"),
            point.get("write_bytes_per_second"),
            point.get("queue_depth"),
        )
        for point in decoded["points"]
    )
    return Past(decoded["step_seconds"], decoded.get("source", ""), decoded.get("detail", ""), points)
