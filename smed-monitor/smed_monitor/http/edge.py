"""``GET /v1/observations`` without Flask: what readers ask tens of times a second.

A question that is right in every respect is answered here; any other, and any other path, goes to the
application behind, which says what is wrong.  Knows HTTP and the table, and scrapes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import parse_qsl
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from pydantic import ValidationError

from smed_monitor.http.answer import observations_json
from smed_monitor.http.schemas import ObservationsQuery
from smed_monitor.scraping.monitor import Monitor

PATH = "/v1/observations"
GATHER_SECONDS = 0.03  # news of many targets go out together; 50 ms are promised from sample to reader


class BusyError(Exception):
    """As many requests wait as may."""


class Answer(NamedTuple):
    """A status, the entity tag and the body, empty for 304."""

    status: int
    etag: str
    body: bytes


class Readers:
    """Answers readers from the table of ``monitor``; at most ``most_waiting`` of them wait at a time."""

    def __init__(self, monitor: Monitor, most_waiting: int) -> None:
        self._monitor = monitor
        self._places = threading.BoundedSemaphore(most_waiting)

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place to wait.  Raises BusyError when there is none."""
        if not self._places.acquire(blocking=False):
            raise BusyError
        try:
            yield
        finally:
            self._places.release()

    def answer(self, query: ObservationsQuery, if_none_match: str) -> Answer:
        """The observations, when there is news or the time to wait is over.  Raises BusyError."""
        instance, table = self._monitor.instance, self._monitor.table
        known = _known_sequence(if_none_match, instance)
        after = query.after if query.after is not None else known
        if query.wait:
            with self.place():
                table.wait(after, query.wait, gather=GATHER_SECONDS)
        if known is not None and known == table.sequence:
            return Answer(304, _etag(instance, known), b"")
        news = table.changes(after) if query.changes and after is not None else None
        snapshot = table.snapshot() if news is None else news
        body = observations_json(snapshot, self._monitor.windows, complete=news is None)
        return Answer(200, _etag(instance, snapshot.sequence), body)


class Edge:
    """Stands before the application ``behind``."""

    def __init__(self, behind: WSGIApplication, readers: Readers) -> None:
        self._behind = behind
        self._readers = readers

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer, or let the application answer."""
        if environ["PATH_INFO"] == PATH and environ["REQUEST_METHOD"] == "GET":
            query = _query(environ.get("QUERY_STRING", ""))
            try:
                if query is not None:
                    answer = self._readers.answer(query, environ.get("HTTP_IF_NONE_MATCH", ""))
                    start_response("200 OK" if answer.status == 200 else "304 NOT MODIFIED", headers(answer))
                    return [answer.body]
            except BusyError:
                pass
        return self._behind(environ, start_response)


def headers(answer: Answer) -> list[tuple[str, str]]:
    """Those that go with ``answer``."""
    if answer.status == 304:
        return [("ETag", answer.etag)]
    return [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(answer.body))),
        ("ETag", answer.etag),
        ("Cache-Control", "no-cache"),
    ]


def _query(text: str) -> ObservationsQuery | None:
    """What ``text`` asks for; ``None`` where something is wrong with it."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True) if text else []
        return ObservationsQuery.model_validate(dict(pairs)) if len(pairs) == len(dict(pairs)) else None
    except (ValidationError, ValueError):
        return None


def _etag(instance: str, sequence: int) -> str:
    # Weak: ages move between two answers with the same sequence.
    return f'W/"{instance}-{sequence}"'


def _known_sequence(header: str, instance: str) -> int | None:
    """The sequence an If-None-Match names, when it comes from this run of the monitor."""
    prefix, number = f'W/"{instance}-', header.rpartition("-")[2].rstrip('"')
    if header.startswith(prefix) and number.isascii() and number.isdigit():
        return int(number)
    return None
