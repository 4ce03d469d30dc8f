"""A thread that repeats a step until it is stopped."""

import threading
from collections.abc import Callable

import structlog

_log = structlog.get_logger("ses_service")


class Loop:
    """Calls ``step`` again and again in a daemon thread.

    ``step`` returns how many seconds to wait before the next call and must have its own time-outs.
    An error it does not handle itself is logged, and it is called again after a second: a thread
    that died would look like a source that is merely quiet.  ``stop`` waits at most ``patience``
    seconds.
    """

    def __init__(self, name: str, step: Callable[[], float]) -> None:
        self._step = step
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def stopping(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stopped.is_set()

    @property
    def is_running(self) -> bool:
        """Whether it began and has not ended."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, patience: float = 1.0) -> bool:
        """End after the current step, which is left to itself when it takes too long.

        Returns whether it has ended.
        """
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(patience)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                delay = self._step()
            except Exception as error:
                _log.error("step failed", loop=self._thread.name, exc_info=error)
                delay = 1.0
            self._stopped.wait(delay)
