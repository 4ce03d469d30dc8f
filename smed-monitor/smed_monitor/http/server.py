"""Serving the monitor: one process that scrapes and answers, many threads."""

from importlib.metadata import version
from pathlib import Path

import structlog
from ses_listen.server import Listener, collect_rarely
from ses_listen.server import serve as listen_and_serve
from ses_listen.threads import Threads
from ses_listen.tls import FollowedTls, TlsFiles

from smed_monitor.config.settings import Settings
from smed_monitor.http.app import create_app
from smed_monitor.scraping.monitor import Monitor

THREADS = 32
MAX_WAITING = 24
MAX_INSIDE = 256  # requests; beyond, the next would wait too long
MAX_BODY = 0  # bytes; no question has one, and none is read

log = structlog.get_logger(__name__)


def serve(
    settings: Settings, listen: str, state_dir: Path | None = None, tls: TlsFiles | None = None
) -> None:
    """Serve on ``listen`` (``host:port``) until SIGTERM or SIGINT.

    With ``tls``, by https.  Raises TlsError when the files cannot be used, ListenError for the address.
    """
    listener = Listener(listen, None if tls is None else FollowedTls(tls))
    monitor = Monitor(settings, state_dir=state_dir)
    collect_rarely()
    behind = Threads(
        create_app(monitor, max_waiting=MAX_WAITING), THREADS, MAX_INSIDE, MAX_BODY, each=MAX_WAITING + 4
    )
    monitor.start()
    try:
        listen_and_serve(
            behind,
            listener,
            ready=lambda: log.info("listening", url=listener.url),
            most=4096,
            ending=monitor.table.close,  # who waits is sent home
            headers=((b"ses-version", version("qstorman-smed-monitor").encode()),),
        )
    finally:
        behind.close()
        monitor.stop()
        log.info("stopped")
