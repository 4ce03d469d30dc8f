"""Serves the portal with gunicorn: one process, several threads, nothing outside the state dir."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from flask import Flask
from gunicorn import systemd  # type: ignore[import-untyped]
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

from ses_webface.tls import TlsFiles

_PAUSE = 5.0  # seconds between two words to the watchdog


class _Worker(ThreadWorker):  # type: ignore[misc]
    """gunicorn's thread worker that also tells systemd's watchdog that it goes on."""

    _told = -_PAUSE

    def notify(self) -> None:
        """Called at least once a second by the loop that takes requests."""
        super().notify()
        if time.monotonic() - self._told >= _PAUSE:
            self._told = time.monotonic()
            systemd.sd_notify("WATCHDOG=1", self.log)


class _Server(BaseApplication):  # type: ignore[misc]
    """Gunicorn with settings given by us; reads no configuration file or command line."""

    def __init__(self, app: Flask, options: dict[str, Any]) -> None:
        self._app = app
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        return self._app


def serve(
    app: Flask,
    listen: str,
    *,
    threads: int,
    log_level: str,
    started: Callable[[], None],
    tls: TlsFiles | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, by https with ``tls``; returns when all requests are answered.

    ``started`` is called in the process that serves, before its first request.
    """
    _Server(
        app,
        {
            "bind": [listen],
            "workers": 1,  # metrics are per process; threads wait for the service, not the processor
            "worker_class": _Worker,
            "threads": threads,
            "control_socket_disable": True,
            "worker_tmp_dir": None,
            "timeout": 60,
            "graceful_timeout": 10,
            "keepalive": 5,
            "loglevel": log_level,
            "proc_name": "ses-webface",
            "post_worker_init": lambda _worker: started(),
            **({} if tls is None else tls.options()),
        },
    ).run()
