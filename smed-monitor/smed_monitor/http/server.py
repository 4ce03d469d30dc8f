"""Serving the monitor with gunicorn: one process that scrapes and answers, many threads.

One worker only: two would scrape everything twice and number outcomes differently.
"""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path
from typing import Any

import structlog
from flask import Flask
from gunicorn import systemd  # type: ignore[import-untyped]
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]
from gunicorn.arbiter import Arbiter  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

from smed_monitor.config.settings import Settings
from smed_monitor.http.app import create_app
from smed_monitor.http.tls import TlsFiles
from smed_monitor.scraping.monitor import Monitor

THREADS = 32
MOST_WAITING = 24
OBJECTS_BEFORE_COLLECTION = 50_000
WATCHDOG_PAUSE = 5.0  # seconds between two words to it

log = structlog.get_logger(__name__)


class Worker(ThreadWorker):  # type: ignore[misc]
    """gunicorn's thread worker that sends waiting requests home when asked to stop, and tells systemd's
    watchdog that it goes on."""

    _told = -WATCHDOG_PAUSE

    def notify(self) -> None:
        """Called at least once a second by the loop that takes requests."""
        super().notify()
        if time.monotonic() - self._told >= WATCHDOG_PAUSE:
            self._told = time.monotonic()
            systemd.sd_notify("WATCHDOG=1", self.log)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """SIGTERM.  The table's lock may not be taken in a signal handler, so a thread does it."""
        server: Server = self.app
        if server.monitor is not None:
            threading.Thread(target=server.monitor.table.close, name="stop-waiting").start()
        super().handle_exit(sig, frame)


class Server(BaseApplication):  # type: ignore[misc]
    """Everything gunicorn needs to know."""

    def __init__(self, settings: Settings, listen: str, state_dir: Path | None, tls: TlsFiles | None) -> None:
        self._settings = settings
        self._state_dir = state_dir
        self._listen = listen
        self._tls = {} if tls is None else tls.options()
        self.monitor: Monitor | None = None
        super().__init__()

    def load_config(self) -> None:
        """Called by gunicorn before it binds."""
        options = {
            "bind": [self._listen],
            "worker_class": Worker,
            "workers": 1,
            "threads": THREADS,
            "keepalive": 75,
            "graceful_timeout": 5,
            "control_socket_disable": True,
            "loglevel": "warning",
            "when_ready": _listening,
            "worker_exit": _stopped,
            **self._tls,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Called by gunicorn in its worker process, where the threads must live."""
        self.monitor = Monitor(self._settings, state_dir=self._state_dir)
        _collect_rarely()
        self.monitor.start()
        return create_app(self.monitor, most_waiting=MOST_WAITING)


def serve(
    settings: Settings, listen: str, state_dir: Path | None = None, tls: TlsFiles | None = None
) -> None:
    """Serve on ``listen`` (``host:port``) until SIGTERM or SIGINT; leaves by SystemExit.

    With ``tls``, by https.  Raises TlsError when the files cannot be used.
    """
    Server(settings, listen, state_dir, tls).run()


def _collect_rarely() -> None:
    """Let Python look for reference cycles less often.

    Every scrape replaces records, which are trees and go by their reference counts; the default walks
    them all the same, after every 700 of them.
    """
    gc.freeze()
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION, 10, 10)


def _listening(arbiter: Arbiter) -> None:
    for listener in arbiter.LISTENERS:
        host, port = listener.sock.getsockname()[:2]
        scheme = "https" if arbiter.cfg.is_ssl else "http"
        log.info("listening", url=f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")


def _stopped(_arbiter: Arbiter, worker: Worker) -> None:
    if worker.app.monitor is not None:
        worker.app.monitor.stop()
        log.info("stopped")
