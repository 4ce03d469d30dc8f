"""What ends a demonstration before its time."""

from __future__ import annotations

from ses_client.errors import SesError


class DemoError(SesError):
    """A step failed; the message says which, why, and what to do."""


class StoppedError(Exception):
    """Somebody asked us to stop (Ctrl-C, SIGTERM, SIGHUP); ``signal_number`` says how."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"stopped by signal {signal_number}")
        self.signal_number = signal_number
