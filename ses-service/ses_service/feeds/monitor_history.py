"""Asks the monitor what one element did."""

from dataclasses import dataclass
from urllib.parse import urlencode

from pydantic import TypeAdapter, ValidationError

from ses_service.feeds.monitor_answer import MonitorError, answer_of
from ses_service.security.trust import Trust

_SECONDS = 3.0
_MAX_ANSWER = 2**20


@dataclass(frozen=True, slots=True)
class Point:
    """Means over a step that ended ``at`` (seconds since the epoch)."""

    at: float
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None
    queue_depth: float | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """What an element did; ``source`` is where the monitor has it from, ``detail`` why not a better one."""

    step_seconds: float
    points: tuple[Point, ...]
    source: str = ""
    detail: str = ""


_PAST = TypeAdapter(Past)


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
        if answer is None:
            return None
        try:
            return _PAST.validate_json(answer.body)
        except ValidationError as error:
            raise MonitorError(f"the monitor's answer cannot be read: {error.errors()[0]['msg']}") from None
