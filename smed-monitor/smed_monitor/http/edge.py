"""``GET /v1/observations`` without Flask: what readers ask tens of times a second.

A question that is right in every respect is answered here; any other, and any other path, goes to the
application behind, which says what is wrong.  Knows HTTP and the table, and scrapes nothing.
"""

import threading
from collections import Counter
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
_MAX_DIGITS = 18  # of a number that was given
GATHER_SECONDS = 0.03  # changes of many targets go out together; 50 ms are promised from sample to reader


class BusyError(Exception):
    """As many requests wait as may."""


class Answer(NamedTuple):
    """A status, the entity tag and the body, empty for 304."""

    status: int
    etag: str
    body: bytes


class Readers:
    """Answers readers from the table of ``monitor``; at most ``max_waiting`` of them wait at a time.

    When all places are taken, the address that has most of them makes room for one that has fewer: the
    oldest of its readers is answered as if the time to wait were over.
    """

    def __init__(self, monitor: Monitor, max_waiting: int) -> None:
        self._monitor = monitor
        self._max_waiting = max_waiting
        self._lock = threading.Lock()
        self._waiting: dict[threading.Event, str] = {}  # the oldest first, with its address

    @contextmanager
    def place(self, address: str) -> Iterator[threading.Event]:
        """A place to wait, and what is set when it is lost.  Raises BusyError when there is none."""
        mine = threading.Event()
        with self._lock:
            if len(self._waiting) >= self._max_waiting:
                self._make_room(address)
            self._waiting[mine] = address
        try:
            yield mine
        finally:
            with self._lock:
                self._waiting.pop(mine, None)

    def _make_room(self, address: str) -> None:
        has = Counter(self._waiting.values())
        whose, places = has.most_common(1)[0]
        if places < has[address] + 2:
            raise BusyError
        gone = next(reader for reader, of in self._waiting.items() if of == whose)
        del self._waiting[gone]
        self._monitor.table.end(gone)

    def answer(self, query: ObservationsQuery, if_none_match: str, address: str) -> Answer:
        """The observations, when something changed or the time to wait is over.  Raises BusyError."""
        instance, table = self._monitor.instance, self._monitor.table
        known = _known_sequence(if_none_match, instance)
        after = query.after if query.after is not None else known
        if query.wait:
            with self.place(address) as ended:
                table.wait(after, query.wait, GATHER_SECONDS, ended)
        if known is not None and known == table.sequence:
            return Answer(304, _etag(instance, known), b"")
        changed = table.changes(after) if query.changes and after is not None else None
        snapshot = table.snapshot() if changed is None else changed
        body = observations_json(snapshot, self._monitor.windows, complete=changed is None)
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
                    tag, address = environ.get("HTTP_IF_NONE_MATCH", ""), environ.get("REMOTE_ADDR", "")
                    answer = self._readers.answer(query, tag, address)
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
    if header.startswith(prefix) and number.isascii() and number.isdigit() and len(number) <= _MAX_DIGITS:
        return int(number)
    return None
