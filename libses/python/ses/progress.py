"""How far a long command is: one live line on a terminal, elsewhere a line per step."""

from __future__ import annotations

import time

from rich.console import Console
from rich.status import Status

from ses.output import line


class Progress:
    """One live line on a terminal; elsewhere a line per step, with the time since the start."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._started = time.monotonic()
        self._status: Status | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def step(self, text: str) -> None:
        """Say what begins now."""
        shown = f"[{time.monotonic() - self._started:5.1f} s] {text}"
        if not self._out.is_terminal:
            line(self._out, shown)
        elif self._status is None:
            self._status = self._out.status(shown)
            self._status.start()
        else:
            self._status.update(shown)

    def clear(self) -> None:
        """Take the live line away, before something else is printed."""
        if self._status is not None:
            self._status.stop()
            self._status = None
