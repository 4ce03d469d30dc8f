"""The commands of one program: Ctrl-C ends each with status 130 and without a message.

Output that cannot be written, as where a disk is full, is said in a sentence.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import Any

import click

from ses_listen import ctrl_c

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Program(click.Group):
    """A group whose commands undo what they began; one that serves calls ``ctrl_c.ends_the_process``."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run as the whole of a process."""
        ctrl_c.ends_the_process()
        try:
            return self.main(*args, **options)
        finally:
            ctrl_c.is_an_exception()  # also where no command ran, as for --help

    def main(self, *args: Any, **options: Any) -> Any:
        """Run, and say in a sentence when standard output takes no more."""
        try:
            return super().main(*args, **options)
        except OSError as error:
            if error.filename is not None or error.errno not in _FULL:
                raise
            click.echo(f"Error: The output cannot be written: {error.strerror}.", err=True)
            os._exit(1)  # what is in the buffer would be tried again at the end

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        ctrl_c.is_an_exception()
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort) as error:  # Abort: at a question
            if isinstance(error, click.Abort) and not (sys.stdin and sys.stdin.isatty()):
                raise  # nobody answers there
            click.echo(err=True)  # behind ^C
            raise SystemExit(128 + signal.SIGINT) from None
        finally:
            ctrl_c.is_an_exception()
