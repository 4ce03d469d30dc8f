"""The embedded store: the SPARQL server of the ``oxigraph`` wheel, started and watched.

It listens on loopback only, on a free port, has a time limit for queries (and is killed when one runs on all
the same), keeps its data in the state directory, and ends with this process. It does not fsync every update:
a crash of the machine, not of the process, may lose the last ones.
"""

from __future__ import annotations

import ctypes
import fcntl
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import structlog

from ses_service.knowledge.errors import KnowledgeBaseError, StoreUnavailableError
from ses_service.knowledge.runaway import Runaway, WatchedStore, processor_time
from ses_service.knowledge.store import HttpStore

_START_SECONDS = 30.0
_FIRST_PAUSE = 0.1
_LOOK_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1
_log = structlog.get_logger(__name__)


class EmbeddedStoreError(KnowledgeBaseError):
    """The embedded store cannot be started."""


class EmbeddedStore:
    """One ``oxigraph serve`` process below ``state_dir``; started again when it dies.

    One that has not answered for ``patience`` seconds is killed, and one that goes on for twice
    ``query_limit`` seconds with what nobody waits for any more: what it acknowledged is kept over that.
    """

    def __init__(self, state_dir: Path, patience: float = 60.0, query_limit: int = 10) -> None:
        self._state_dir = state_dir
        self._patience = patience
        self._query_limit = query_limit
        self._runaway = Runaway(2.0 * query_limit, patience)
        self._port = 0
        self._kept_port: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[bytes] | None = None
        self._stopping = threading.Event()
        self._guard = threading.Lock()  # no process is started once stopping has begun
        self._watcher = threading.Thread(target=self._watch, name="knowledge-store", daemon=True)

    @property
    def pid(self) -> int | None:
        """The process that serves now."""
        return self._process.pid if self._process else None

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> HttpStore:
        """Start the server and return its client.

        Raises ``EmbeddedStoreError`` when the directory cannot be used, is in use, or the server does
        not come up in 30 seconds.
        """
        try:
            self._state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = (self._state_dir / "lock").open("wb")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EmbeddedStoreError(
                f"{self._state_dir} is in use by another service: give each its own --state-dir"
            ) from None
        except OSError as error:
            raise EmbeddedStoreError(f"{self._state_dir} cannot be used: {error}") from None
        self._kept_port = _kept_port()
        self._port = self._kept_port.getsockname()[1]
        self._run()
        client = WatchedStore.for_oxigraph(self.url)
        client.runaway = self._runaway
        self._wait_ready(client)
        (self._state_dir / "address").write_text(self.url)
        self._watcher.start()
        return client

    def running(self) -> HttpStore | None:
        """Return the client of the server another process runs in this directory; ``None`` without one."""
        try:
            address = (self._state_dir / "address").read_text()
            with (self._state_dir / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return HttpStore.for_oxigraph(address)
        except OSError:
            return None
        return None

    def stop(self) -> None:
        """End the server; does nothing when it does not run."""
        with self._guard:
            self._stopping.set()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._watcher.is_alive():
            self._watcher.join(5)
        if self._kept_port is not None:
            self._kept_port.close()
            self._kept_port = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _run(self) -> None:
        command = [
            str(Path(sys.executable).with_name("oxigraph")), "serve",
            "--location", str(self._state_dir / "data"),
            "--bind", f"127.0.0.1:{self._port}",
            "--timeout-s", str(self._query_limit),
            "--union-default-graph",
        ]  # fmt: skip
        try:
            with (self._state_dir / "store.log").open("ab") as log:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=_die_with_parent
                )
        except OSError as error:
            raise EmbeddedStoreError(f"{command[0]} cannot be started: {error}") from None
        self._runaway.restart(time.monotonic())

    def _wait_ready(self, client: HttpStore) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                client.select("SELECT * WHERE {} LIMIT 1")
            except StoreUnavailableError:
                status = self._process.poll() if self._process else None
                if status is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                    continue
                self.stop()
                raise EmbeddedStoreError(self._failure(status)) from None
            else:
                return

    def _failure(self, status: int | None) -> str:
        what = f"ended with status {status}" if status is not None else f"not ready in {_START_SECONDS:.0f} s"
        lines = (self._state_dir / "store.log").read_text("utf-8", "replace").splitlines()
        return f"the embedded store: {what}; it said: {' / '.join(lines[-3:]) or 'nothing'}"

    def _watch(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            began = time.monotonic()
            status = self._wait_for_end()
            pause = _FIRST_PAUSE if time.monotonic() - began > 5 else min(pause * 2, 10.0)
            if self._stopping.wait(pause):
                return
            _log.warning("the embedded store died and is started again", status=status)
            with self._guard:
                if self._stopping.is_set():
                    return
                try:
                    self._run()
                except EmbeddedStoreError as error:
                    self._process = None
                    _log.error("the embedded store cannot be started again", detail=str(error))

    def _wait_for_end(self) -> int | None:
        """Return the status the server ended with, after killing one that is of no use any more."""
        answered = time.monotonic()
        while self._process is not None:
            try:
                return self._process.wait(min(_LOOK_SECONDS, self._query_limit / 2))
            except subprocess.TimeoutExpired:
                runs_on = self._runaway.look(processor_time(self._process.pid), time.monotonic())
                if self._answers():
                    answered = time.monotonic()
                silent = time.monotonic() - answered > self._patience
                if (silent or runs_on) and not self._stopping.is_set():
                    why = "does not answer" if silent else "works on a query nobody waits for"
                    _log.error(f"the embedded store {why} and is killed", pid=self._process.pid)
                    self._process.kill()
        return None

    def _answers(self) -> bool:
        try:
            HttpStore.for_oxigraph(self.url).select("SELECT * WHERE {} LIMIT 1")
        except KnowledgeBaseError:
            return False
        return True


def _kept_port() -> socket.socket:
    """Return a socket on a free loopback port, which the kernel gives to nobody else while it is open.

    The server can listen there beside it, because both set SO_REUSEADDR and this one does not listen.
    """
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    return kept


def _die_with_parent() -> None:
    # The server must not outlive a service that was killed. A terminal's Ctrl-C is for the service,
    # which ends the server in its own order.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
