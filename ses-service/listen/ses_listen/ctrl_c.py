"""Ctrl-C of a program that does not serve yet: importing this, first of all, lets it end the process at once.

So no traceback comes of it while modules are loaded, and none of what a start waits for delays it.  A program
sets :func:`is_an_exception` where there is something to undo.  The command ``ses`` is installed without this
package and has the same in ``ses/ctrl_c_at_start.py``.
"""

from __future__ import annotations

import signal
from contextlib import suppress


def ends_the_process() -> None:
    """Let Ctrl-C end the process at once, as SIGTERM does, unless somebody handles it otherwise."""
    with suppress(ValueError):  # another thread than the main one
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def is_an_exception() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    with suppress(ValueError):
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)


ends_the_process()
