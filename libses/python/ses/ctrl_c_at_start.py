"""No traceback comes of Ctrl-C where nothing can be undone yet: importing this lets it end the process.

The importing program calls :func:`is_an_exception` as soon as there is something to undo.
"""

from __future__ import annotations

import signal
from contextlib import suppress


def ends_the_process() -> None:
    """Let Ctrl-C end the process at once, unless somebody handles it otherwise."""
    with suppress(ValueError):  # another thread than the main one
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def is_an_exception() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    with suppress(ValueError):
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)


ends_the_process()
