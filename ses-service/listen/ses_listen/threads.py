"""Flask behind an event loop: requests as WSGI knows them, answered in a few threads.

No thread ever waits for a client: a request gets one when all of it has arrived, and the answer is sent by
the loop.  Callers get threads in turn, and none has all of them.  A request that takes too long, or whose
client hung up, is notified (:mod:`ses_listen.deadline`) and keeps its caller's thread until its work ends.
For answers that fit in memory; does not stream.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes
from wsgiref.types import WSGIApplication

import structlog

from ses_listen.daemon_threads import DaemonThreads
from ses_listen.deadline import Deadline, RequestEndedError, of_this_thread
from ses_listen.intake import Intake
from ses_listen.problems import FAILED, OVERLOADED, TOO_LONG, Answer
from ses_listen.request import Request, Send
from ses_listen.turns import Turns

SECONDS = 60.0  # a request may run
_OWN_NAMES = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}
_WITHOUT_LENGTH = (204, 304)

_log = structlog.get_logger("ses_listen")


def address_of(request: Request) -> str:
    """Return the caller: the address that the request comes from."""
    return request.address


class Threads:
    """Answers requests through ``app``.  Belongs to one event loop.

    Of a body one byte more than ``max_body`` is read, so that ``app`` sees that it is too large.  Beyond
    ``waiting`` requests inside, the next are refused at once.  One caller has at most ``each`` threads, by
    default half of them, and three quarters of the places to wait; ``caller`` names it.  A request that
    runs for ``seconds`` is answered with 503.
    """

    def __init__(
        self,
        app: WSGIApplication,
        threads: int,
        waiting: int,
        max_body: int,
        *,
        each: int | None = None,
        caller: Callable[[Request], str] = address_of,
        seconds: float = SECONDS,
    ) -> None:
        self._app = app
        self._seconds = seconds
        self._threads = DaemonThreads(threads, "answer")
        self._turns = Turns(threads, each or max(1, threads // 2), max(1, waiting * 3 // 4))
        self._waiting = waiting
        self._caller = caller
        self.max_body = max_body
        self.intake = Intake()
        self._answering: set[asyncio.Task[None]] = set()

    def reads(self, request: Request) -> bool:  # noqa: ARG002
        """Whether a request is looked at at all: each is."""
        return True

    def answer(self, request: Request, send: Send) -> None:
        """Have a request answered; nothing is sent to who hung up."""
        if request.body is None or not self.has_room(request):
            send(OVERLOADED)
        else:
            self.begin(request, send)

    def begin(self, request: Request, send: Send) -> None:
        """Have a request answered, however many there are; refuse it where too many of its caller wait."""
        who = self._caller(request)
        turn = self._turns.take(who)
        if turn is None:
            send(OVERLOADED)
            return
        task = asyncio.get_running_loop().create_task(self._answer(request, who, turn, send))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def has_room(self, request: Request) -> bool:
        """Return whether this request would not wait too long for those inside.

        If it would, one that waits is refused in its place, of a caller with more of them.
        """
        is_full = self._turns.count >= self._waiting
        return not is_full or self._turns.make_room(self._caller(request), self._waiting)

    async def _answer(self, request: Request, who: str, turn: asyncio.Future[None], send: Send) -> None:
        answer: Answer | None = FAILED
        try:
            answer = await self._in_turn(request, who, turn)
        except Exception as error:
            _log.error("request failed", path=request.path, exc_info=error)
        if answer is not None:
            send(answer)

    async def _in_turn(self, request: Request, who: str, turn: asyncio.Future[None]) -> Answer | None:
        """Return the application's answer; ``None``: they hung up."""
        gone = request.gone()
        running: asyncio.Future[Answer] | None = None
        try:
            if not turn.done():
                await _first_of(turn, gone)
            if turn.cancelled():
                return OVERLOADED
            if not turn.done():
                return None
            deadline = Deadline(self._seconds)
            running = asyncio.get_running_loop().run_in_executor(
                self._threads, self._call, _environ(request), deadline
            )
            running.add_done_callback(lambda done: self._ended(who, turn, done))
            while not running.done() and not gone.done() and deadline.left:
                await _first_of(running, gone, deadline.left)
            if running.done():
                return running.result()
            deadline.end()
            return None if gone.done() else TOO_LONG
        except asyncio.CancelledError:  # the server ends
            if running is not None:
                running.cancel()
            return OVERLOADED
        finally:
            if running is None and not turn.cancelled():
                self._turns.leave(who, turn)

    def _ended(self, who: str, turn: asyncio.Future[None], done: asyncio.Future[Answer]) -> None:
        self._turns.leave(who, turn)
        if not done.cancelled():
            done.exception()  # of one that nobody waits for, nobody asks

    def close(self) -> None:
        """Let the threads end; what they still do ends with the process."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _call(self, environ: dict[str, Any], deadline: Deadline) -> Answer:
        try:
            with of_this_thread(deadline):
                return self._answered(environ)
        except RequestEndedError:
            return TOO_LONG

    def _answered(self, environ: dict[str, Any]) -> Answer:
        begun: list[tuple[int, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], *_: Any) -> Callable[[bytes], object]:
            begun.append((int(status[:3]), headers))
            return lambda _: None

        parts: Iterable[bytes] = self._app(environ, start_response)
        try:
            body = b"".join(parts)
        finally:
            close = getattr(parts, "close", None)
            if close is not None:
                close()
        status, headers = begun[-1]
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        if status not in _WITHOUT_LENGTH and not any(name == b"content-length" for name, _ in raw):
            raw.append((b"content-length", b"%d" % len(body)))
        return Answer(status, raw, body)


async def _first_of(
    first: asyncio.Future[Any], second: asyncio.Future[Any], seconds: float | None = None
) -> None:
    await asyncio.wait((first, second), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


def _environ(request: Request) -> dict[str, Any]:
    """Return the request as WSGI has it (PEP 3333): text is latin-1 of the bytes."""
    (server, port), body = request.ends.server, request.body or b""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(request.target).decode("latin-1"),
        "QUERY_STRING": request.query.decode("latin-1"),
        "SERVER_NAME": server,
        "SERVER_PORT": str(port or ""),
        "SERVER_PROTOCOL": f"HTTP/{request.version}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": request.ends.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    if request.ends.client:
        environ["REMOTE_ADDR"], environ["REMOTE_PORT"] = request.ends.client[0], str(request.ends.client[1])
    for raw_name, raw_value in request.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        if "_" in name:
            continue
        key = _OWN_NAMES.get(name) or "HTTP_" + name.upper().replace("-", "_")
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    if body and "CONTENT_LENGTH" not in environ:
        environ["CONTENT_LENGTH"] = str(len(body))
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    return environ
