"""Flask behind an event loop: requests as WSGI knows them, answered in a few threads.

For answers that fit in memory and requests whose body has been read; does not stream.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote_to_bytes

from flask import Flask

from ses_service.api.render import Reply

_THREADS = 4
_WAITING = 64
_OWN_NAMES = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


class FlaskThreads:
    """Answers requests through ``app``.  Belongs to one event loop."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="flask")
        self._inside = 0

    @property
    def full(self) -> bool:
        """Whether so many requests are inside that the next one would wait too long."""
        return self._inside >= _WAITING

    async def answer(self, scope: MutableMapping[str, Any], body: bytes) -> Reply:
        """Return Flask's answer."""
        self._inside += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, self._call, _environ(scope, body)
            )
        finally:
            self._inside -= 1

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _call(self, environ: dict[str, Any]) -> Reply:
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
        return Reply(status, body, tuple(headers))


def _environ(scope: MutableMapping[str, Any], body: bytes) -> dict[str, Any]:
    """Return the request as WSGI has it (PEP 3333): text is latin-1 of the bytes."""
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    server = scope.get("server") or ("localhost", 80)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(raw_path.partition(b"?")[0]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": str(server[0]),
        "SERVER_PORT": str(server[1] or ""),
        "SERVER_PROTOCOL": f"HTTP/{scope.get('http_version', '1.1')}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    if scope.get("client"):
        environ["REMOTE_ADDR"], environ["REMOTE_PORT"] = scope["client"][0], str(scope["client"][1])
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        if "_" in name:
            continue
        key = _OWN_NAMES.get(name) or "HTTP_" + name.upper().replace("-", "_")
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    if body and "CONTENT_LENGTH" not in environ:
        environ["CONTENT_LENGTH"] = str(len(body))
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    return environ
