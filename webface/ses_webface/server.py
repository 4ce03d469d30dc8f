"""Serves the portal: one process, several threads, nothing outside the state dir."""

from collections.abc import Callable

import structlog
from flask import Flask
from ses_listen.request import Request
from ses_listen.server import Listener, Times
from ses_listen.server import serve as listen_and_serve
from ses_listen.threads import Threads, address_of
from ses_listen.tls import FollowedTls, TlsFiles
from werkzeug.middleware.proxy_fix import ProxyFix

_WAITING = 64  # requests inside; beyond, the next would wait too long
_TIMES = Times(grace=10)

log = structlog.get_logger("ses_webface")


def serve(
    app: Flask, listen: str, *, threads: int, started: Callable[[int], None], tls: TlsFiles | None = None
) -> None:
    """Serve until SIGTERM or SIGINT, by https with ``tls``; returns when requests were answered.

    ``started`` is called with the port before the first request.  Raises ListenError and TlsError.
    """
    listener = Listener(listen, None if tls is None else FollowedTls(tls))
    caller = _address_before_proxy if isinstance(app.wsgi_app, ProxyFix) else address_of
    behind = Threads(app, threads, threads + _WAITING, app.config["MAX_CONTENT_LENGTH"], caller=caller)

    def ready() -> None:
        started(listener.socket.getsockname()[1])
        log.info("listening", url=listener.url)

    try:
        listen_and_serve(behind, listener, ready=ready, times=_TIMES, most=4096)
    finally:
        behind.close()


def _address_before_proxy(request: Request) -> str:
    """Return the address that the proxy in front says a request came from."""
    values = [value for name, value in request.headers if name == b"x-forwarded-for"]
    return values[-1].rpartition(b",")[2].strip().decode("latin-1") if values else request.address
