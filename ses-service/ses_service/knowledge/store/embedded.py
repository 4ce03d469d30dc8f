"""The embedded store: a process of ours with the data in the state directory, started and watched.

It listens on a UNIX socket that only the user of the service can reach (``embedded_server.py``), and ends
with this process. What it acknowledged is on the disk.
"""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import structlog

from ses_service.knowledge.errors import KnowledgeBaseError, StoreUnavailableError
from ses_service.knowledge.store.local_socket import SocketPool
from ses_service.knowledge.store.store import HttpStore

_PROGRAM = Path(__file__).with_name("embedded_server.py")
_SOCKET = "socket"
_START_SECONDS = 30.0
_FIRST_PAUSE = 0.1
_MAX_PAUSE = 10.0
_LOOK_SECONDS = 5.0
_MAX_LOG = 2**20
_PR_SET_PDEATHSIG = 1
# By root too, in a folder of the service.
_MADE_HERE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_log = structlog.get_logger(__name__)


class EmbeddedStoreError(KnowledgeBaseError):
    """The embedded store cannot be started."""


class EmbeddedStore:
    """One server process below ``state_dir``; started again when it dies.

    One that has not answered for ``patience`` seconds is killed, though not before it has had 30 seconds to
    start, and one ends itself that works on a request for longer than anybody waits (``query_limit`` for
    callers who do not say how long that is): what it acknowledged is kept over that.
    """

    def __init__(self, state_dir: Path, patience: float = 60.0, query_limit: int = 10) -> None:
        self._state_dir = state_dir
        self._patience = patience
        self._query_limit = query_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[bytes] | None = None
        self._failure = ""
        self._came_up = False
        self._stopping = threading.Event()
        self._guard = threading.Lock()  # no process is started once stopping has begun
        self._watcher = threading.Thread(target=self._watch, name="knowledge-store", daemon=True)

    @property
    def pid(self) -> int | None:
        """The process that serves now."""
        return self._process.pid if self._process else None

    def client(self, timeout: float = 5.0) -> HttpStore:
        """Return a client of the server."""
        return HttpStore.on_socket(SocketPool(self._state_dir / _SOCKET, why=lambda: self._failure), timeout)

    def start(self, *, must_answer: bool = True) -> HttpStore:
        """Start the server and return its client.

        Raises ``EmbeddedStoreError`` when the directory cannot be used or is in use, and, if ``must_answer``,
        when the server does not come up in 30 seconds. Otherwise it is started again and again until it comes
        up; what is asked meanwhile fails with the reason.
        """
        try:
            self._state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            _close_to_others(self._state_dir)
            self._lock = os.fdopen(os.open(self._state_dir / "lock", _MADE_HERE, 0o600), "wb")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EmbeddedStoreError(
                f"{self._state_dir} is in use by another service: give each its own --state-dir"
            ) from None
        except OSError as error:
            raise EmbeddedStoreError(f"{self._state_dir} cannot be used: {error}") from None
        self._run()
        client = self.client()
        if not self._comes_up(client):
            if must_answer:
                self.stop()
                raise EmbeddedStoreError(self._failure)
            _log.error("the knowledge base does not start; it is tried again", detail=self._failure)
        self._watcher.start()
        return client

    def running(self) -> HttpStore | None:
        """Return the client of the server another process runs in this directory; ``None`` without one."""
        try:
            with (self._state_dir / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return self.client()
        except OSError:
            return None
        return None

    def stop(self) -> None:
        """End the server; does nothing when it does not run."""
        with self._guard:
            self._stopping.set()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()  # what it acknowledged is kept
            self._process.wait()
        if self._watcher.is_alive():
            self._watcher.join(5)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _run(self) -> None:
        self._came_up = False
        command = [sys.executable, "-I", str(_PROGRAM), "data", _SOCKET, str(self._query_limit)]
        path = self._state_dir / "store.log"
        try:
            (self._state_dir / _SOCKET).unlink(missing_ok=True)
            with os.fdopen(os.open(path, _MADE_HERE | os.O_APPEND, 0o600), "ab") as log:
                if os.fstat(log.fileno()).st_size > _MAX_LOG:
                    log.truncate(0)
                self._process = subprocess.Popen(
                    command,
                    cwd=self._state_dir,  # the address of a socket holds only a short path
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    preexec_fn=_die_with_parent,
                )
        except OSError as error:
            self._process = None
            self._failure = f"it cannot be started: {error}"

    def _comes_up(self, client: HttpStore) -> bool:
        """Wait until the server answers; return whether it does, and note why not."""
        deadline = time.monotonic() + _START_SECONDS
        while self._process is not None:
            try:
                client.select("SELECT * WHERE {} LIMIT 1")
            except StoreUnavailableError:
                status = self._process.poll()
                if status is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                    continue
                self._failure = self._reason(status)
                return False
            else:
                self._came_up = True
                return True
        return False

    def _reason(self, status: int | None) -> str:
        what = f"ended with status {status}" if status is not None else f"not ready in {_START_SECONDS:.0f} s"
        lines = (self._state_dir / "store.log").read_text("utf-8", "replace").splitlines()
        return f"the embedded store {what}; its log ends: {lines[-1] if lines else 'nothing'}"

    def _watch(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            began = time.monotonic()
            status = self._wait_for_end()
            pause = _FIRST_PAUSE if time.monotonic() - began > 5 else min(pause * 2, _MAX_PAUSE)
            if self._stopping.is_set():
                return
            reason = self._failure if status is None else self._reason(status)
            if reason != self._failure:
                _log.warning("the embedded store died and is started again", status=status, detail=reason)
            self._failure = reason
            if self._stopping.wait(pause):
                return
            with self._guard:
                if self._stopping.is_set():
                    return
                self._run()

    def _wait_for_end(self) -> int | None:
        """Return the status the server ended with, after killing one that does not answer any more."""
        answered = time.monotonic()
        while self._process is not None:
            try:
                return self._process.wait(min(_LOOK_SECONDS, self._patience / 2))
            except subprocess.TimeoutExpired:
                patience = self._patience if self._came_up else max(self._patience, _START_SECONDS)
                if self._answers():
                    answered = time.monotonic()
                    self._came_up, self._failure = True, ""
                elif time.monotonic() - answered > patience and not self._stopping.is_set():
                    _log.error("the embedded store does not answer and is killed", pid=self._process.pid)
                    self._process.kill()
        return None

    def _answers(self) -> bool:
        try:
            self.client().select("SELECT * WHERE {} LIMIT 1")
        except KnowledgeBaseError:
            return False
        return True


def _close_to_others(folder: Path) -> None:
    """Let nobody else read a folder; not one that a link of the service's user leads root to."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if os.fstat(here).st_uid == (os.geteuid() or folder.parent.stat().st_uid):
            os.fchmod(here, 0o700)
    finally:
        os.close(here)


def _die_with_parent() -> None:
    # The server must not outlive a service that was killed. A terminal's Ctrl-C, and the SIGTERM that systemd
    # sends to all processes of a unit, are for the service, which ends the server in its own order.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for entry in (signal.SIGINT, signal.SIGTERM):
        signal.signal(entry, signal.SIG_IGN)
