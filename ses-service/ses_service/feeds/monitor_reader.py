"""Reads the monitor: asks for the next observations and waits for them, in a thread of its own.

Keeps the last good answer whatever happens; its age shows how good it still is.  Ages are taken from
the monitor's own ``age_seconds`` and our clock, so that clocks that differ do no harm.  Never asks two
questions at once, never waits without a limit, and reads no answer beyond ``MAX_ANSWER`` bytes.

An answer about 10,000 elements takes a fifth of a second to understand, and a parser lets nobody else go on
while it works.  So it is understood in pieces, between which others may go first.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Required
from urllib.parse import urlencode

import structlog
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json
from typing_extensions import TypedDict

from ses_service.feeds.monitor_answer import MonitorError, answer_of
from ses_service.model.entities import Observation
from ses_service.security.trust import Trust
from ses_service.threads.loop import Loop
from ses_service.threads.source_status import SourceStatus

MAX_ANSWER = 64 * 2**20
_WAIT = 5.0
_PATIENCE = 3.0
_SLICE = 100  # observations
_PIECE = 2**15  # bytes; understood in half a millisecond
_BETWEEN_TWO = re.compile(rb"\}\s*,\s*(?=\{)")
_RETRY = (0.25, 0.5, 1.0, 2.0)

_log = structlog.get_logger("ses_service")


class _RatePair(TypedDict, total=False):
    current: float | None
    average: float | None


class _Observation(TypedDict, total=False):
    element: Required[str]
    source: str
    target: str
    state: Literal["ok", "stale", "missing"]
    sampled_at: float | None
    age_seconds: float | None
    read_bytes_per_second: _RatePair
    write_bytes_per_second: _RatePair
    queue_depth: float | None
    free_bytes: float | None
    size_bytes: float | None
    read_only: bool
    degraded: bool
    no_create: bool
    read_capability_bytes_per_second: float | None
    write_capability_bytes_per_second: float | None
    interval_seconds: float | None
    detail: str


class _Answer(TypedDict, total=False):
    sequence: Required[int]
    complete: bool
    current_window_seconds: float
    average_window_seconds: float
    observations: Required[list[Any]]
    odd: str  # what cannot be read of an element, which is left out; not of the monitor


_ANSWER = TypeAdapter(_Answer)
_OBSERVATIONS = TypeAdapter(list[_Observation])
_NOTHING: _RatePair = {}


def _nothing() -> None:
    """Let nobody else go first."""


class Seen(NamedTuple):
    """What the monitor sees of all elements; ``window`` in seconds, if the monitor states it."""

    sequence: int
    observations: tuple[Observation, ...]
    window: float | None = None
    average_window: float | None = None


class MonitorClient:
    """One question at a time to ``GET /v1/observations``.

    ``between`` is called whenever others may go first while an answer is understood.
    """

    def __init__(
        self,
        url: str,
        *,
        wait: float = _WAIT,
        patience: float = _PATIENCE,
        between: Callable[[], None] = _nothing,
        trust: Trust | None = None,
    ) -> None:
        self._url = url.rstrip("/") + "/v1/observations"
        self._wait = wait
        self._patience = patience
        self._between = between
        self._kept: dict[str, Observation] = {}
        self._odd = ""
        self.version = ""
        self._pool = (trust or Trust()).pool()

    def observations(self, after: int | None, clock: Callable[[], float]) -> Seen:
        """Return all observations, at once or when newer than ``after``.

        Only what changed is asked for; the rest is what the last answers had.

        Takes at most the time the monitor is asked to wait and the patience on top.  Raises
        MonitorError.
        """
        url, wait = self._url, 0.0
        if after is not None:
            wait = self._wait
            url += "?" + urlencode({"wait": f"{wait:g}", "after": after, "changes": "true"})
        raw = answer_of(self._pool, url, MAX_ANSWER, self._patience, wait)
        received = clock()
        if raw is None:
            raise MonitorError("the monitor answered with status 404")
        self.version = raw.version
        answer, observations = _read(raw.body, received, self._between)
        if (odd := answer.get("odd", "")) != self._odd:
            self._odd = odd
            _log.warning("the monitor says odd things of an element", detail=odd or "no more")
        if answer.get("complete", True):
            self._kept = {}
        self._kept.update((observation.element, observation) for observation in observations)
        windows = answer.get("current_window_seconds"), answer.get("average_window_seconds")
        return Seen(answer["sequence"], tuple(self._kept.values()), *windows)

    def close(self) -> None:
        """Close the connection."""
        self._pool.clear()


def _read(
    body: bytes, received: float, between: Callable[[], None]
) -> tuple[_Answer, tuple[Observation, ...]]:
    """Parse an answer.  What cannot be parsed in pieces is parsed as a whole, which says what is wrong."""
    try:
        answer, parts = _in_pieces(body, between)
    except ValueError:
        answer, parts = _as_a_whole(body, between)
    observations: list[Observation] = []
    parts.reverse()
    while parts:  # a part is freed before the next is taken, so that they are not freed all at once
        between()
        observations.extend([_observation(observation, received) for observation in parts.pop()])
    return answer, tuple(observations)


def _in_pieces(body: bytes, between: Callable[[], None]) -> tuple[_Answer, list[list[_Observation]]]:
    """Return an answer without its observations, and these in parts.

    Cuts where one object seems to end and another to begin.  Where that was within a text or a value, neither
    piece is JSON.  Raises ValueError, as ValidationError is one.
    """
    key = body.index(b'"observations"')
    start, end = body.index(b"[", key) + 1, body.rindex(b"]")
    answer = _ANSWER.validate_python(from_json(body[:start] + body[end:]))
    if answer["observations"]:
        raise ValueError("these are not the observations")
    parts = []
    for piece in _pieces(body, start, end):
        between()
        parts.append(_OBSERVATIONS.validate_json(b"[%b]" % piece))
    return answer, parts


def _pieces(body: bytes, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        cut = _BETWEEN_TWO.search(body, min(start + _PIECE, end), end)
        yield body[start : cut.start() + 1 if cut else end]
        start = cut.end() if cut else end


def _as_a_whole(body: bytes, between: Callable[[], None]) -> tuple[_Answer, list[list[_Observation]]]:
    """Return the same without what is wrong of single elements, or raise MonitorError."""
    try:
        answer = _ANSWER.validate_python(from_json(body))
    except ValidationError as error:
        raise _unreadable(error) from None
    except ValueError as error:
        raise MonitorError(f"the monitor's answer cannot be read: {error}") from None
    listed, parts = answer["observations"], []
    unreadable: MonitorError | None = None
    for start in range(0, len(listed), _SLICE):
        between()
        piece = listed[start : start + _SLICE]
        try:
            parts.append(_OBSERVATIONS.validate_python(piece))
        except ValidationError as error:
            wrong = {fault["loc"][0] for fault in error.errors(include_url=False, include_input=False)}
            right = [observation for number, observation in enumerate(piece) if number not in wrong]
            parts.append(_OBSERVATIONS.validate_python(right))
            unreadable = unreadable or _unreadable(error, start)
    if unreadable and not any(parts):
        raise unreadable
    answer["odd"] = str(unreadable or "")
    return answer, parts


def _unreadable(error: ValidationError, start: int | None = None) -> MonitorError:
    first = error.errors(include_url=False, include_input=False)[0]
    place = list(first["loc"])
    if start is not None:
        place = ["observations", start + int(place[0]), *place[1:]]
    where = ".".join(str(part) for part in place) or "the answer"
    return MonitorError(f"the monitor's answer cannot be read: {where}: {first['msg']}")


def _observation(observation: _Observation, received: float) -> Observation:
    sampled_at, age = observation.get("sampled_at"), observation.get("age_seconds")
    if sampled_at is not None and age is not None:
        sampled_at = received - max(0.0, age)
    read = observation.get("read_bytes_per_second", _NOTHING)
    write = observation.get("write_bytes_per_second", _NOTHING)
    return Observation(
        element=observation["element"],
        sampled_at=sampled_at,
        current_read_rate=read.get("current"),
        current_write_rate=write.get("current"),
        average_read_rate=read.get("average"),
        average_write_rate=write.get("average"),
        queue_depth=observation.get("queue_depth"),
        free_bytes=observation.get("free_bytes"),
        size_bytes=observation.get("size_bytes"),
        read_only=observation.get("read_only", False),
        degraded=observation.get("degraded", False),
        no_create=observation.get("no_create", False),
        read_capability=observation.get("read_capability_bytes_per_second"),
        write_capability=observation.get("write_capability_bytes_per_second"),
        interval=observation.get("interval_seconds"),
        source=observation.get("source", ""),
        target=observation.get("target", ""),
        state=observation.get("state", "ok"),
        detail=observation.get("detail", ""),
    )


class Observer:
    """Hands each new set of observations to ``take``; keeps the monitor's status.

    ``between`` is called whenever others may go first.
    """

    def __init__(
        self,
        url: str | None,
        take: Callable[[Seen], None],
        clock: Callable[[], float],
        client: MonitorClient | None = None,
        between: Callable[[], None] = _nothing,
        trust: Trust | None = None,
    ) -> None:
        self._client = client or (MonitorClient(url, between=between, trust=trust) if url else None)
        self._take = take
        self._clock = clock
        self._sequence: int | None = None
        self._failures = 0
        self._loop = Loop("observer", self.step)
        self.status = SourceStatus(url, detail="not asked yet" if url else "no monitor is configured")

    def start(self) -> None:
        """Begin to read, when there is a monitor."""
        if self._client is not None:
            self._loop.start()

    def stop(self) -> None:
        """Stop reading."""
        self._loop.stop()
        if self._client is not None:
            self._client.close()

    def step(self) -> float:
        """Ask once; return the seconds to wait before the next time."""
        if self._client is None:
            return 3600.0
        try:
            seen = self._client.observations(self._sequence, self._clock)
            self._take(seen)
        except MonitorError as error:
            self._failed(str(error))
            delay = _RETRY[min(self._failures, len(_RETRY)) - 1]
        else:
            delay = 0.25 if seen.sequence == self._sequence else 0.0
            self._sequence = seen.sequence
            self._succeeded()
        return delay

    def notes(self, now: float) -> list[str]:
        """Return what a person reading a decision should know about the monitor."""
        status = self.status
        if status.reachable:
            return []
        age = status.age(now)
        if age is None:
            return [f"No observations: {status.detail}."]
        return [f"The monitor has been silent for {age:.0f} s: {status.detail}."]

    def _failed(self, detail: str) -> None:
        self._failures += 1
        self._sequence = None
        if self._loop.stopping:
            return
        if self.status.detail != detail:
            _log.warning("monitor failed", detail=detail)
        self.status = replace(self.status, reachable=False, detail=detail)

    def _succeeded(self) -> None:
        self._failures = 0
        if not self.status.reachable:
            _log.info("monitor answers", url=self.status.url)
        version = "" if self._client is None else self._client.version
        self.status = SourceStatus(self.status.url, True, self._clock(), "", version)
