"""The processes of the demonstration: started on free ports, ready when they say so, stopped by pid.

Each runs in a session of its own with a log file under the work directory.  A process that ends
before it is ready is reported with the tail of its log.  Does not restart anything.  Single processes, of
which nobody waits until they are ready, are started and ended by the functions at the end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts

_READY_SECONDS = 60.0
_STOP_SECONDS = 10.0
_TAIL_LINES = 15
_kept_ports: list[socket.socket] = []


@dataclass(frozen=True, slots=True)
class Running:
    """One started process and how to see whether it is ready."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    ready: Callable[[], bool]

    def tail(self) -> str:
        """Return the last lines of the log, indented."""
        lines = self.log.read_text("utf-8", "replace").splitlines()[-_TAIL_LINES:]
        return "\n".join(f"    {text}" for text in lines) or "    (it wrote nothing)"


class Processes:
    """All processes of one demonstration."""

    def __init__(self, logs: Path, interrupts: Interrupts) -> None:
        self._logs = logs
        self._interrupts = interrupts
        self._running: list[Running] = []
        logs.mkdir(mode=0o700)

    def start(
        self,
        name: str,
        argv: Sequence[str],
        ready: Callable[[], bool],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a process; raises DemoError if it cannot be started at all."""
        self._interrupts.check()
        log = self._logs / f"{name}.log"
        with log.open("ab") as output:
            try:
                process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env={**os.environ, **(environment or {})},
                )
            except OSError as error:
                raise DemoError(f"{name} cannot be started ({argv[0]}): {error.strerror}.") from error
        self._running.append(Running(name, process, log, ready))

    def wait_ready(self) -> None:
        """Wait until every process started so far is ready.

        Raises DemoError with the tail of the log of the one that ended, or was not ready in time.
        """
        deadline = time.monotonic() + _READY_SECONDS
        for part in self._running:
            while not part.ready():
                self.check()
                if time.monotonic() >= deadline:
                    raise DemoError(
                        f"{part.name} was not ready within {_READY_SECONDS:g} s. Its log ends:\n{part.tail()}"
                    )
                self._interrupts.pause()

    def check(self) -> None:
        """Raise DemoError if a process has ended, with the tail of its log."""
        for part in self._running:
            status = part.process.poll()
            if status is not None:
                raise DemoError(f"{part.name} ended (status {status}). Its log ends:\n{part.tail()}")

    def tail(self, name: str) -> str:
        """Return how the log of a process ends."""
        return "\n".join(
            f"{part.name}'s log ends:\n{part.tail()}" for part in self._running if part.name == name
        )

    def kill(self, name: str) -> None:
        """Kill a process and its session, as when its machine fails; it is not missed by ``check()``."""
        end(self._removed(name).process)

    def stop(self, name: str) -> None:
        """Stop a process, as all are stopped at the end."""
        _stop([self._removed(name)])

    def _removed(self, name: str) -> Running:
        part = next(part for part in self._running if part.name == name)
        self._running.remove(part)
        return part

    def pid(self, name: str) -> int:
        """Return the number of a process."""
        return next(part for part in self._running if part.name == name).process.pid

    def stop_all(self) -> None:
        """Stop all, those started last first; a process that does not end by SIGTERM is killed."""
        _stop(list(reversed(self._running)))
        self._running.clear()


def _stop(running: Sequence[Running]) -> None:
    for part in running:
        with contextlib.suppress(ProcessLookupError):
            part.process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    for part in running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            part.process.wait(max(0.0, deadline - time.monotonic()))
        end(part.process)


def free_port() -> int:
    """Return a loopback port that the kernel gives to nobody else while this process lives.

    A server can listen on it: it sets SO_REUSEADDR, and the socket that keeps the port does not listen.
    """
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    _kept_ports.append(kept)
    port: int = kept.getsockname()[1]
    return port


def answers(url: str) -> Callable[[], bool]:
    """Return a check that is true when a GET of ``url`` is answered with 200."""

    def check() -> bool:
        try:
            response = urllib3.request("GET", url, timeout=2.0, retries=False)
        except urllib3.exceptions.HTTPError:
            return False
        return response.status == 200

    return check


def is_socket(path: Path) -> Callable[[], bool]:
    """Return a check that is true when a process listens on a UNIX socket of that name."""

    def check() -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            try:
                probe.connect(str(path))
            except OSError:
                return False
        return True

    return check


def started(
    argv: Sequence[str | Path], undo: ExitStack, patience: float = _STOP_SECONDS, **options: Any
) -> subprocess.Popen[Any]:
    """Start a process in a session of its own, which ``undo`` stops; ``options`` are those of Popen.

    Ctrl-C at the terminal does not reach it.  It has ``patience`` seconds to end.  Raises DemoError when it
    cannot be started.
    """
    options = {"stdin": subprocess.DEVNULL, "start_new_session": True, **options}
    try:
        process = subprocess.Popen(argv, **options)
    except OSError as error:
        raise DemoError(f"{argv[0]} cannot be started: {error.strerror}.") from error
    undo.callback(stop, process, patience)
    return process


def said(process: subprocess.Popen[Any], interrupts: Interrupts, seconds: float) -> tuple[Any, Any]:
    """Wait for the end of a process, ready to be stopped; returns what it wrote to its two pipes.

    Raises DemoError when that takes longer.
    """
    deadline = time.monotonic() + seconds
    while True:
        interrupts.check()
        try:
            return process.communicate(timeout=0.1)
        except subprocess.TimeoutExpired:
            if time.monotonic() >= deadline:
                raise DemoError(f"{process.args!r} did not end within {seconds:g} s.") from None


def stop(process: subprocess.Popen[Any], seconds: float = _STOP_SECONDS) -> None:
    """Stop a process, by force where that takes longer than ``seconds``."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    end(process)


def end(process: subprocess.Popen[Any]) -> None:
    """Kill a process that has not ended, and children that outlived it, where it leads a session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
        stream.close()
