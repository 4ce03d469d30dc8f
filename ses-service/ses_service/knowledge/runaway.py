"""Whether the embedded store works for nobody: on a query whose caller has given it up.

The oxigraph server looks at its time limit when it has a result; a query that finds nothing runs on, and an
update has no limit at all. What tells is the processor time the server spends while nobody waits for it. Ends
nothing itself.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from ses_service.knowledge.errors import StoreUnavailableError
from ses_service.knowledge.store import HttpStore

_IDLE = 0.05
"""The share of a processor below which the server does nothing: the service asks it for under a hundredth."""

_SHORT = 1.0
"""Seconds a request may take and be no reason for the server to be at work."""

_TICKS = os.sysconf("SC_CLK_TCK")


class Runaway:
    """Watches one server, which may work without a pause

    * for ``limit`` seconds when a request was given up and nobody waits for another,
    * for ``patience`` seconds when one was given up and somebody waits for another,
    * for five times that when nobody is known to wait: a command may have it write a backup.

    Times are monotonic and in seconds. Safe to use from several threads.
    """

    def __init__(self, limit: float, patience: float) -> None:
        self._limit = limit
        self._patience = patience
        self._guard = threading.Lock()
        self._numbers = count()
        self.restart(0.0)

    def restart(self, now: float) -> None:
        """Begin again, with a server that has done nothing yet."""
        with self._guard:
            self._open: dict[int, float] = {}
            self._long = False
            self._given_up: float | None = None
            self._since: float | None = None
            self._looked, self._spent = now, 0.0

    def asked(self, now: float) -> int:
        """Note that a request was sent and return its number."""
        with self._guard:
            number = next(self._numbers)
            self._open[number] = now
            return number

    def ended(self, number: int, now: float, *, in_time: bool) -> None:
        """Note that a request was answered, or given up."""
        with self._guard:
            began = self._open.pop(number, now)
            if not in_time:
                self._given_up = self._given_up or now
            elif now - began > _SHORT:
                self._long = True

    def look(self, spent: float, now: float) -> bool:
        """Return whether the server should be ended; ``spent`` is its processor time so far, in seconds."""
        with self._guard:
            began, working = self._looked, spent - self._spent > _IDLE * (now - self._looked)
            wanted = self._long or any(now - one > _SHORT for one in self._open.values())
            self._looked, self._spent, self._long = now, spent, False
            if not working:
                self._since = self._given_up = None
                return False
            self._since = None if wanted else began if self._since is None else self._since
            alone = 0.0 if self._since is None else now - self._since
            if self._given_up is None:
                return alone >= 5 * self._patience
            return alone >= self._limit or now - self._given_up >= self._patience


class WatchedStore(HttpStore):
    """A client that tells a :class:`Runaway` of its requests."""

    runaway: Runaway

    def _request(
        self, method: str, url: str, body: bytes, headers: dict[str, str], patience: float = 1.0
    ) -> bytes:
        with self._noted(self._timeout * patience):
            return super()._request(method, url, body, headers, patience)

    @contextlib.contextmanager
    def _noted(self, limit: float) -> Iterator[None]:
        began = time.monotonic()
        number, in_time = self.runaway.asked(began), True
        try:
            yield
        except StoreUnavailableError:
            in_time = time.monotonic() - began < limit
            raise
        finally:
            self.runaway.ended(number, time.monotonic(), in_time=in_time)


def processor_time(pid: int) -> float:
    """Return the seconds of processor time a process has spent; 0 when there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS
