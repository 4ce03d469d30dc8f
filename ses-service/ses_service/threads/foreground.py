"""Threads that can wait give way to the one that answers.

Python runs one thread at a time, and numpy lets another one run in each pass over a long column.  While
another thread has work, a decision of half a millisecond thus takes three to ten: it gets the interpreter
back only after each of the other's slices.  So the other works in small pieces and waits between them
while somebody is being answered.

Forces nobody, and holds nobody up for long: under steady load what can wait goes on, more slowly.
"""

import threading

_MAX_WAIT = 0.005  # seconds before each piece


class Foreground:
    """Whether somebody is being answered; known by the thread that answers, heeded by all others."""

    def __init__(self) -> None:
        self._idle = threading.Event()
        self._idle.set()

    def begin(self) -> None:
        """Note that somebody is being answered from now on."""
        self._idle.clear()

    def end(self) -> None:
        """Note that nobody is being answered, nor waits."""
        self._idle.set()

    def wait_for_idle(self) -> None:
        """Wait while somebody is being answered, though not for long."""
        self._idle.wait(_MAX_WAIT)
