"""Serves the portal with gunicorn: one process, several threads, nothing outside the state dir."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]


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


def serve(app: Flask, listen: str, *, threads: int, log_level: str, started: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; does not return before all requests are answered.

    ``started`` is called in the process that serves, before its first request.
    """
    _Server(
        app,
        {
            "bind": [listen],
            "workers": 1,  # metrics are per process; threads wait for the service, not the processor
            "worker_class": "gthread",
            "threads": threads,
            "control_socket_disable": True,
            "worker_tmp_dir": None,
            "timeout": 60,
            "graceful_timeout": 10,
            "keepalive": 5,
            "loglevel": log_level,
            "proc_name": "ses-webface",
            "post_worker_init": lambda _worker: started(),
        },
    ).run()
