"""Sessions with PostgreSQL that end when the server hangs.

The server itself ends statements that run too long, and the kernel notices a machine that is gone.  Neither
helps against a server process that is stopped, or that waits for its own disk: nothing would ever come.
"""

import time
from collections.abc import Generator
from typing import Any

from psycopg import Connection, OperationalError

SILENCE = 15.0  # seconds; longer than a statement may run


class BoundedSession(Connection[Any]):
    """A session in which no answer is awaited longer than ``SILENCE``; it is closed then.

    Raises OperationalError, as for a connection that was lost.
    """

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **options: Any) -> Any:
        """Do what psycopg's own does, with a limit."""
        try:
            return super().wait(_limited(gen), *arguments, **options)
        except _SilentError as error:
            self.close()
            raise OperationalError(str(error)) from None


class _SilentError(Exception):
    """The server does not answer."""


def _limited(waiting: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Pass on what is waited for, and what came of it."""
    answered_at = time.monotonic()
    try:
        wanted = next(waiting)
        while True:
            ready = yield wanted
            if ready:
                answered_at = time.monotonic()
            elif time.monotonic() - answered_at > SILENCE:
                raise _SilentError(f"the server has not answered for {SILENCE:.0f} s")
            wanted = waiting.send(ready)
    except StopIteration as end:
        return end.value
